"""Operating the daemon from a terminal: daemon, status, call, stop, restart."""

import argparse
import json
import os
import sys
import time
from typing import Any, Final, Self

import msgspec
import psutil
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from protocol.client import Client
from protocol.messages import Progress

_STOP_WAIT_S: Final = 20.0


def register(subparsers: Any) -> None:
    """Add the commands to the parser."""
    daemon = subparsers.add_parser("daemon", help="run the daemon in the foreground")
    daemon.set_defaults(run=run_daemon)

    status = subparsers.add_parser("status", help="show the daemon, its actors and its clients")
    status.add_argument("--json", action="store_true", help="for machines")
    status.set_defaults(run=show_status)

    call = subparsers.add_parser("call", help="call one action and print its envelope as JSON")
    call.add_argument("domain", help="memory, reason, meta or llm")
    call.add_argument("action", help="for example recall; `chrysalis call meta discover` names all")
    call.add_argument("params", nargs="?", default="{}", help="params as JSON, or - for standard input")
    call.add_argument("--session", default="", help="session to call in")
    call.add_argument("--verbosity", choices=("detail", "summary", "brief", "terse"), default="detail")
    call.add_argument("--store-as", default="", help="keep the result under this key in the session")
    call.add_argument("--timeout", type=float, metavar="S", help="seconds to wait; each action has its own default")
    call.set_defaults(run=call_action)

    stop = subparsers.add_parser("stop", help="end the daemon in order")
    stop.set_defaults(run=stop_daemon)

    restart = subparsers.add_parser("restart", help="restart one actor, also out of fatal")
    restart.add_argument("actor", choices=("memory", "solver", "advisory", "guard"))
    restart.set_defaults(run=restart_actor)


def run_daemon(_: argparse.Namespace) -> int:
    """Become the daemon."""
    os.execv(sys.executable, [sys.executable, "-m", "daemon"])  # noqa: S606 - our own interpreter


def show_status(options: argparse.Namespace) -> int:
    """Print how the daemon is."""
    with Client() as client:
        status = client.control("status")
    if options.json:
        print(json.dumps(status, indent=1))
        return 0
    console = Console(markup=False)
    console.print(
        f"daemon {status['version']}, pid {status['pid']}, up {status['uptime_s']:.0f} s, at {status['runtime_dir']}",
        f"{status['calls']} calls in {status['sessions']} sessions, errors: {status['errors'] or 'none'}",
        sep="\n",
        highlight=False,
    )
    console.print(_actors_table(status["actors"]))
    for peer in status["clients"]:
        console.print(f"client {peer['client'] or peer['kind']} (pid {peer['pid']}), {peer['calls']} calls under way")
    return 0


def _actors_table(actors: dict[str, Any]) -> Table:
    table = Table(box=None)
    for heading in ("actor", "state", "pid", "restarts", "last end", "MiB", "notes"):
        table.add_column(heading)
    for name, actor in actors.items():
        color = {"running": "green", "fatal": "red"}.get(actor["state"], "yellow")
        table.add_row(
            name,
            Text(actor["state"], color),
            str(actor["pid"] or "-"),
            str(actor["restarts"]),
            actor["last_cause"] or "-",
            f"{actor['rss_mib']:.0f}",
            "; ".join(actor["notes"]),
        )
    return table


def call_action(options: argparse.Namespace) -> int:
    """Call one action; the envelope goes to standard output, progress to standard error."""
    params = read_params(sys.stdin.read() if options.params == "-" else options.params)
    extra = {"session_id": options.session, "store_as": options.store_as, "verbosity": options.verbosity}
    deadline_ms = int(options.timeout * 1000) if options.timeout else None
    with Client() as client, ProgressBar() as bar:
        envelope = client.call(
            options.domain,
            options.action,
            params,
            deadline_ms=deadline_ms,
            on_progress=bar.take,
            **{key: value for key, value in extra.items() if value},
        )
    print(json.dumps(envelope, indent=1, ensure_ascii=False))
    return 0 if envelope["status"] == "ok" else 1


def read_params(text: str) -> dict[str, Any]:
    """Params from the command line.

    Raises:
        ValueError: they are no JSON object.
    """
    try:
        params = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"the params are not valid JSON: {error}") from None
    if not isinstance(params, dict):
        raise ValueError(  # noqa: TRY004 - it is what was typed that is wrong
            'the params must be a JSON object, for example \'{"query": "who owns the lab?"}\''
        )
    return params


class ProgressBar:
    """A bar on standard error that appears with the first progress told; silent where nobody looks."""

    def __init__(self) -> None:
        self._bar = Bar(console=Console(stderr=True, markup=False), transient=True, disable=not sys.stderr.isatty())
        self._task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._task is not None:
            self._bar.stop()

    def take(self, progress: Progress) -> None:
        """Show how far the call is."""
        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task("")
        text = escape(progress.message or "working")
        self._bar.update(self._task, completed=progress.done, total=progress.total, description=text)


def stop_daemon(_: argparse.Namespace) -> int:
    """End the daemon and wait until it is gone."""
    with Client() as client:
        pid = client.control("stop")["pid"]
    until = time.monotonic() + _STOP_WAIT_S
    while time.monotonic() < until:
        if not _alive(pid):
            print("stopped")
            return 0
        time.sleep(0.05)
    print(f"the daemon (pid {pid}) is still ending", file=sys.stderr)
    return 1


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def restart_actor(options: argparse.Namespace) -> int:
    """Restart an actor and wait until it runs."""
    with Client() as client:
        client.control("restart", options.actor)
        until = time.monotonic() + _STOP_WAIT_S
        state = ""
        while time.monotonic() < until:
            state = client.control("status")["actors"][options.actor]["state"]
            if state == "running":
                print(f"{options.actor} is running")
                return 0
            time.sleep(0.1)
    print(f"{options.actor} is {state}; see the daemon's log", file=sys.stderr)
    return 1


__all__ = ["ProgressBar", "read_params", "register"]
