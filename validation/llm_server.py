"""`python -m validation.llm_server --profile e4b`: a guarded llama-server without the daemon, for the harness.

Prints one JSON line {"url", "key", "pid", "profile"} when it is ready, then serves until TERM, INT or the end of
its standard input (`--stdin`). Exit 1 when it is refused or given up, with the reason.
"""

import argparse
import json
import os
import signal
import sys
from pathlib import Path

import anyio

from actors.guard.ledger import Ledger
from actors.guard.profiles import Profile, ProfileError, choose
from actors.guard.server import ModelServer
from protocol import endpoints, settings

START_MAX_S = 1_800.0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    flags = argparse.ArgumentParser(prog="python -m validation.llm_server", description="A guarded llama-server.")
    flags.add_argument("--profile", default="", help="e4b, small or one of config.toml")
    flags.add_argument("--model", default="", help="a GGUF file in place of the profile's")
    flags.add_argument("--ctx", type=int, help="context size in place of the profile's")
    flags.add_argument("--override", action="store_true", help="start although the admission says no")
    flags.add_argument("--stdin", action="store_true", help="end when standard input does")
    return flags


async def serve(profile: Profile, *, override: bool, stdin: bool) -> int:
    """Run the guard until told to stop; the exit code."""
    runtime = Path(endpoints.runtime_dir()) / "validation"
    runtime.mkdir(mode=0o700, exist_ok=True)
    server = ModelServer(runtime, Ledger(settings.data_dir() / "llm-loads.json"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run)
        tasks.start_soon(_end_on_signal, tasks.cancel_scope)
        if stdin:
            tasks.start_soon(_end_on_eof, tasks.cancel_scope)
        try:
            return await _start_and_wait(server, profile, override=override)
        finally:
            with anyio.CancelScope(shield=True):
                await server.close()
            tasks.cancel_scope.cancel()
    return 0


async def _start_and_wait(server: ModelServer, profile: Profile, *, override: bool) -> int:
    await server.ask(lambda life, now: life.start(profile, now, override=override))
    await server.settle(START_MAX_S)
    if server.child is None:
        print(server.life.why, file=sys.stderr)
        return 1
    launch = server.child.launch
    told = {"url": launch.url, "key": launch.key, "pid": server.child.pid, "profile": profile.name}
    print(json.dumps(told), flush=True)
    await server.settle(float("inf"), "stopped", "fatal", "wedged")
    print(server.life.why, file=sys.stderr)
    return 1


async def _end_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()


async def _end_on_eof(scope: anyio.CancelScope) -> None:
    while await anyio.to_thread.run_sync(os.read, 0, 4096, abandon_on_cancel=True):
        pass
    scope.cancel()


def main(argv: list[str] | None = None) -> int:
    """Run it as the command line says."""
    options = parser().parse_args(argv)
    try:
        profile = choose(options.profile, options.model, options.ctx)
    except (ProfileError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    if profile is None:
        print("No model is configured; give --model FILE.", file=sys.stderr)
        return 1
    return anyio.run(lambda: serve(profile, override=options.override, stdin=options.stdin))


if __name__ == "__main__":
    sys.exit(main())
