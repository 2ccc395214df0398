"""`chrysalis demo`: the main job from end to end, in a directory of its own that is gone afterwards."""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from protocol.client import Client, NoDaemon
from protocol.messages import Progress as Told

_FACTS: Final = Path(__file__).with_name("demo_facts.json")
_PUBLIC: Final = "retrieval/openie_musique_train_results_ner_gpt-3.5-turbo-1106_1890.json"
_PUBLIC_QUESTION: Final = "What is the name of the waterfall in the country where the Bubye River is found?"
_START_S: Final = 30.0
_CHUNK: Final = 2_000
_INGEST_DEADLINE_MS: Final = 600_000
_SESSION: Final = "demo"

console = Console(highlight=False)


def register(subparsers: Any) -> None:
    """Add the command to the parser."""
    demo = subparsers.add_parser("demo", help="see the main job done, in a minute")
    demo.add_argument("--small", action="store_true", help="leave out the public knowledge base, also where it is")
    demo.set_defaults(run=run_demo)


def run_demo(options: argparse.Namespace) -> int:
    """Do the main job; 0 when everything was found as it must be."""
    started = time.monotonic()
    story = json.loads(_FACTS.read_text(encoding="utf-8"))
    with _daemon() as environment:
        _load(environment, story, None if options.small else _public_file())
        failed = _tell(environment, story, with_public=not options.small and _public_file() is not None)
    if failed:
        console.print(f"[red]Not as it must be:[/] {failed}")
        return 1
    console.print(
        f"\n[green]Done in {time.monotonic() - started:.0f} s.[/] To use it, paste this into your MCP client:\n"
    )
    console.print(config_line(), soft_wrap=True)
    console.print("or let it be done: [bold]chrysalis client add --help[/]")
    return 0


def config_line() -> str:
    """The entry for an MCP client's configuration."""
    command = Path(sys.executable).with_name("chrysalis-mcp")
    return json.dumps({"mcpServers": {"chrysalis": {"command": str(command)}}})


@contextlib.contextmanager
def _daemon() -> Generator[Mapping[str, str]]:
    """A daemon in a directory of its own, so that nobody's memory is touched; yields the environment it is found by."""
    directory = Path(tempfile.mkdtemp(prefix="cz"))
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("CHRYSALIS_")},
        "CHRYSALIS_RUNTIME_DIR": str(directory / "run"),
        "XDG_DATA_HOME": str(directory / "data"),
        "XDG_CONFIG_HOME": str(directory / "config"),
        "XDG_STATE_HOME": str(directory / "state"),
    }
    with (directory / "daemon.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "daemon"], env=environment, stdin=subprocess.DEVNULL, stderr=log
        )
    try:
        yield environment
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        shutil.rmtree(directory, ignore_errors=True)


def _connect(environment: Mapping[str, str]) -> Client:
    """A client of the demo's daemon, waiting for it to come up."""
    endpoint = f"ipc://{environment['CHRYSALIS_RUNTIME_DIR']}/bridge.sock"
    until = time.monotonic() + _START_S
    while True:
        try:
            return Client(endpoint=endpoint, client="demo", connect_timeout_s=1.0)
        except NoDaemon:
            if time.monotonic() > until:
                raise


def _public_file() -> Path | None:
    """The public triples, where the shared data lie beside the checkout or where CHRYSALIS_DATA says."""
    roots = [os.environ.get("CHRYSALIS_DATA"), Path(__file__).resolve().parents[2] / "shared" / "data"]
    found = (Path(root) / _PUBLIC for root in roots if root)
    return next((path for path in found if path.exists()), None)


def _load(environment: Mapping[str, str], story: dict[str, Any], public: Path | None) -> None:
    console.rule("1. A knowledge base is loaded")
    with _connect(environment) as client:
        params = {"passages": story["passages"], "source": story["source"], "wait": True}
        console.print(client.call("memory", "ingest", params, deadline_ms=_INGEST_DEADLINE_MS)["summary"])
        if public is not None:
            _load_public(client, public)


def _load_public(client: Client, public: Path) -> None:
    documents = json.loads(public.read_text(encoding="utf-8"))["docs"]
    triples = [triple for document in documents for triple in document["extracted_triples"]]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    malformed = stored = 0
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("MuSiQue triples", total=len(triples))
        for start in range(0, len(triples), _CHUNK):
            part = triples[start : start + _CHUNK]

            def on_progress(told: Told, start: int = start, size: int = len(part)) -> None:
                bar.update(task, completed=start + size * told.done / max(told.total or 1, 1))

            params = {"triples": part, "source": "musique"}
            data = client.call("memory", "ingest", params, deadline_ms=_INGEST_DEADLINE_MS, on_progress=on_progress)[
                "data"
            ]
            malformed, stored = malformed + data["malformed"], stored + data["stored"]
            bar.update(task, completed=start + len(part))
    console.print(f"{len(triples)} triples read: {stored} stored, {malformed} malformed ones reported and left out.")


class McpClient:
    """The client process of `launcher.demo_client`, one line out for each line in."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "launcher.demo_client"],
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.hello = self._read()

    def call(self, domain: str, action: str, params: dict[str, Any], **options: Any) -> dict[str, Any]:
        """One call of the tool, as the model would make it; the envelope."""
        assert self._process.stdin is not None
        arguments = {"domain": domain, "action": action, "params": params, "session_id": _SESSION, **options}
        self._process.stdin.write(json.dumps(arguments) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise NoDaemon("The demo's MCP client ended before it answered.")
        return json.loads(line)

    def kill(self) -> None:
        """End it by kill -9."""
        self._process.kill()
        self._close()

    def end(self) -> None:
        """Close its input and wait."""
        self._close()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._process.wait(10)


def _tell(environment: Mapping[str, str], story: dict[str, Any], *, with_public: bool) -> str:
    """Go through the job with two clients; what was not as it must be, or ""."""
    first = McpClient(environment)
    console.rule("2. A question of several hops, through the official MCP client and the bridge")
    console.print(f"(MCP {first.hello['era']}, tools: {', '.join(first.hello['tools'])})")
    answered = _ask(first, story["question"], story["answer"])
    if with_public:
        console.print()
        _ask(first, _PUBLIC_QUESTION, "")
    console.rule("3. A puzzle, solved exactly")
    solved = _solve(first, story["puzzle"])
    console.rule("4. Both in one batch, and a profile declared")
    batched = _batch(first, story)
    profile = first.call("meta", "handshake", {"model": "qwen2.5-coder-1.5b", "params_b": 1.5})
    console.print(profile["summary"])
    console.rule("5. The client is killed; a new one goes on")
    first.kill()
    second = McpClient(environment)
    kept = _go_on(second)
    second.end()
    checks = {"the hops": answered, "the puzzle": solved, "the batch": batched, "the session": kept}
    return ", ".join(name for name, fine in checks.items() if not fine)


def _ask(client: McpClient, question: str, answer: str) -> bool:
    envelope = client.call("memory", "recall", {"query": question, "k": 10, "explain": True})
    data = envelope["data"]
    console.print(f"[bold]{question}[/]")
    paths = [path for path in data.get("paths", []) if path["steps"] and path["node"] == answer]
    for step in paths[0]["steps"] if paths else data["facts"][:3]:
        console.print(
            escape(f"   {step['subject']}  —{step['relation']}→  {step['object']}"),
            f"  [dim]{escape(', '.join(step['sources']))}[/]",
        )
    found = [node["name"] for node in data["nodes"]]
    console.print(f"   recalled: {escape(', '.join(found))}   [dim]{envelope['telemetry']['ms']:.0f} ms[/]")
    for note in envelope.get("notes", []):
        console.print(f"   [dim]({escape(note)})[/]")
    return answer in found or any(answer in (fact["subject"], fact["object"]) for fact in data["facts"])


def _solve(client: McpClient, puzzle: dict[str, Any]) -> bool:
    envelope = client.call("reason", "solve", puzzle["params"])
    console.print(f"[bold]{puzzle['text']}[/]")
    model = envelope["data"]["model"]
    order = sorted(model, key=lambda boat: model[boat])
    console.print(
        f"   {' · '.join(order)}   (unique: {envelope['data']['unique']}, verified: {envelope['data']['verified']})"
    )
    return envelope["data"]["unique"] is True and envelope["data"]["verified"] is True


def _batch(client: McpClient, story: dict[str, Any]) -> bool:
    steps = [
        {
            "id": "who",
            "domain": "memory",
            "action": "recall",
            "params": {"query": "who designed Velmora Light?", "k": 3},
        },
        {"id": "boats", "domain": "reason", "action": "solve", "params": story["puzzle"]["params"]},
        {
            "id": "where",
            "domain": "memory",
            "action": "recall",
            "params": {"query": "where was $cache.who.facts.0.object born?", "k": 3},
        },
    ]
    envelope = client.call("meta", "batch", {"steps": steps}, store_as="demo_batch")
    for step in envelope["data"]["steps"]:
        console.print(escape(f"   {step['id']}: {step['status']}, {step['summary']}"))
    return all(step["status"] == "ok" for step in envelope["data"]["steps"])


def _go_on(client: McpClient) -> bool:
    recalled = client.call("memory", "recall", {"query": "$cache.demo_batch.steps.0.data.facts.0.object", "k": 3})
    stats = client.call("meta", "stats", {})
    advised = client.call("meta", "advise", {"domain": "reason", "action": "solve"})
    console.print(f"   its cache is there: {', '.join(stats['data']['cache']['keys'])}")
    console.print(escape(f"   recalled from it: {recalled['summary']}"))
    console.print(escape(f"   its profile is there: {json.dumps(advised['data'].get('profile'))}"))
    source = (advised["data"].get("profile") or {}).get("source", "")
    return "demo_batch" in stats["data"]["cache"]["keys"] and recalled["status"] == "ok" and source == "declared"
