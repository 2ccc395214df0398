"""`chrysalis llm plan|start|stop|restart|status|logs`: the guarded llama-server from a terminal."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from protocol.client import Client, NoDaemon

from . import autostart
from .operate import ProgressBar

START_MS: Final = 600_000
STOP_MS: Final = 120_000
COLORS: Final[Mapping[str, str]] = {
    "ready": "green", "busy": "green", "slow": "yellow", "fatal": "red", "wedged": "red", "stuck": "red",
}  # fmt: skip


def register(subparsers: Any) -> None:
    """Add `llm` and its verbs to the command line."""
    parser = subparsers.add_parser("llm", help="run llama-server under guard")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    plan = _add(verbs, "plan", "show whether it would fit, without starting it", run_plan)
    _choice(plan)
    for verb, text in (("start", "start it"), ("restart", "stop and start it; also leaves fatal")):
        start = _add(verbs, verb, text, run_start)
        _choice(start)
        start.add_argument("--override", action="store_true", help="start although it does not seem to fit")
        start.add_argument("--no-wait", action="store_true", help="do not wait until it is ready")
    stop = _add(verbs, "stop", "stop it and wait for its memory", run_stop)
    stop.add_argument("--now", action="store_true", help="do not wait for the request under way, KILL at once")
    _add(verbs, "status", "how it is", run_status)
    logs = _add(verbs, "logs", "its last lines", run_logs)
    logs.add_argument("-n", "--lines", type=int, default=100, help="how many (default: %(default)s)")


def _add(verbs: Any, name: str, text: str, run: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=text)
    parser.add_argument("--json", action="store_true", help="the envelope, for machines")
    parser.set_defaults(run=run)
    return parser


def _choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("profile", nargs="?", default="", help="e4b, small or one of config.toml")
    parser.add_argument("--model", default="", help="a GGUF file in place of the profile's")
    parser.add_argument("--ctx", type=int, help="context size in place of the profile's")


def _params(options: argparse.Namespace) -> dict[str, Any]:
    model = str(Path(options.model).expanduser().resolve()) if options.model else ""
    given = {"profile": options.profile, "model": model, "ctx": options.ctx}
    return {key: value for key, value in given.items() if value}


def _call(
    action: str, params: dict[str, Any], deadline_ms: int | None = None, *, start_daemon: bool = False
) -> dict[str, Any]:
    if start_daemon:
        _ensure_daemon()
    with Client() as client, ProgressBar() as bar:
        return client.call("llm", action, params, verbosity="detail", deadline_ms=deadline_ms, on_progress=bar.take)


def _ensure_daemon() -> None:
    """Start the daemon when none runs, as clients do.

    Raises:
        NoDaemon: none can be had.
    """
    try:
        autostart.ensure()
    except autostart.StartError as error:
        raise NoDaemon(str(error)) from error


def run_plan(options: argparse.Namespace) -> int:
    """Print the admission: need, have, margin and the source of each number."""
    envelope = _call("plan", _params(options), start_daemon=True)
    if _printed(envelope, options):
        return _code(envelope)
    console, plan = Console(markup=False), envelope["data"]
    table = Table(box=None)
    for heading in ("", "MiB", "source"):
        table.add_column(heading, justify="right" if heading == "MiB" else "left")
    for part in (*plan["need"], *plan["have"]):
        table.add_row(part["name"], f"{part['mib']:.0f}", part["source"])
    console.print(table)
    console.print(plan["text"], style="green" if plan["verdict"] == "fits" else "red", highlight=False)
    console.print(f"estimate: {plan['past_error']}", highlight=False)
    console.print(" ".join(plan.get("command", [])), highlight=False, soft_wrap=True)
    return 0 if plan["verdict"] == "fits" else 1


def run_start(options: argparse.Namespace) -> int:
    """Start or restart it; waits until it is ready or has failed."""
    params = _params(options) | {"override": options.override, "wait": not options.no_wait}
    envelope = _call(options.verb, params, START_MS, start_daemon=True)
    return _code(envelope) if _printed(envelope, options) else _print_status(envelope)


def run_stop(options: argparse.Namespace) -> int:
    """Stop it."""
    envelope = _call("stop", {"now": options.now}, STOP_MS)
    return _code(envelope) if _printed(envelope, options) else _print_status(envelope)


def run_status(options: argparse.Namespace) -> int:
    """Print how it is; 0 unless it was given up, is wedged or cannot be asked."""
    envelope = _call("status", {})
    return _code(envelope) if _printed(envelope, options) else _print_status(envelope)


def run_logs(options: argparse.Namespace) -> int:
    """Print its last lines."""
    envelope = _call("logs", {"lines": options.lines})
    if not _printed(envelope, options):
        for line in envelope["data"]["lines"]:
            print(line)
    return _code(envelope)


def _code(envelope: dict[str, Any]) -> int:
    return 0 if envelope["status"] == "ok" else 1


def _printed(envelope: dict[str, Any], options: argparse.Namespace) -> bool:
    """Print the envelope for machines, or the error for people; whether that was all."""
    if options.json:
        print(json.dumps(envelope, indent=1, ensure_ascii=False))
        return True
    if envelope["status"] == "ok":
        return False
    console = Console(stderr=True, markup=False)
    console.print(envelope["summary"], style="red", highlight=False)
    if envelope.get("next_action"):
        console.print(envelope["next_action"], highlight=False)
    return True


def _print_status(envelope: dict[str, Any]) -> int:
    console, status = Console(markup=False), envelope["data"]
    state = Text(status["state"], COLORS.get(status["state"], "yellow"))
    console.print(Text.assemble(state, "  ", status["text"]), highlight=False)
    for name, value in _rows(status):
        console.print(f"  {name:10} {value}", highlight=False, soft_wrap=True)
    for warning in status.get("warnings", []):
        console.print(warning, style="yellow", highlight=False)
    if envelope.get("next_action"):
        console.print(envelope["next_action"], highlight=False)
    return 1 if status["state"] in {"fatal", "wedged"} else 0


def _rows(status: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("model", status.get("model")),
        ("url", status.get("url")),
        ("key", status.get("key_file") and f"in {status['key_file']}"),
        ("pid", status.get("pid")),
        ("memory", status.get("rss_mib") and f"{status['rss_mib']:.0f} MiB resident"),
        ("available", status.get("available_mib") and f"{status['available_mib']:.0f} MiB"),
        ("speed", status.get("tokens_per_s") and f"{status['tokens_per_s']} tokens/s"),
        ("restarts", status.get("restarts")),
        ("last end", (status.get("last_exit") or {}).get("text")),
    ]
    return [(name, str(value)) for name, value in rows if value]
