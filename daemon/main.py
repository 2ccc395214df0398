"""The daemon's process: arguments, the single-instance lock, signals, and a top handler that tells why it ended."""

import argparse
import asyncio
import faulthandler
import logging
import os
import signal
import sys

import anyio
import zmq

from protocol import endpoints
from protocol.settings import value

from .core import Daemon
from .instance import AlreadyRunning, ReadyPipe, claim, release

log = logging.getLogger("chrysalis")


def main(argv: list[str] | None = None) -> int:
    """Run the daemon in the foreground; 0 after an orderly end, 1 when it could not start."""
    parser = argparse.ArgumentParser(prog="chrysalis daemon", description="Run the daemon in the foreground.")
    parser.add_argument("--ready-fd", type=int, help="write READY or the reason why not to this descriptor")
    options = parser.parse_args(argv)
    ready = ReadyPipe(options.ready_fd)
    faulthandler.enable()
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s daemon: %(message)s")
    try:
        descriptor = claim()
    except AlreadyRunning as running:
        ready.say("READY")
        print(f"{running} See: chrysalis status", file=sys.stderr)  # noqa: T201
        return 1
    except (endpoints.EndpointError, OSError) as error:
        ready.say(f"ERROR {error}")
        print(f"The daemon cannot start: {error}", file=sys.stderr)  # noqa: T201
        return 1
    try:
        return _serve(ready, idle_exit_s=_idle_exit_s(started_by_client=options.ready_fd is not None))
    finally:
        release(descriptor, [endpoints.bridge_socket(), endpoints.actors_socket(), endpoints.advisory_file()])


def _idle_exit_s(*, started_by_client: bool) -> float:
    """Only a daemon that a client started ends itself when unused; one under systemd or in a terminal stays."""
    if not started_by_client:
        return 0.0
    said = value("CHRYSALIS_IDLE_EXIT_S")
    try:
        return max(0.0, float(said))
    except ValueError:
        log.warning("CHRYSALIS_IDLE_EXIT_S=%s is not a number of seconds; the daemon stays", said)
        return 0.0


def _serve(ready: ReadyPipe, idle_exit_s: float) -> int:
    try:
        anyio.run(_run, ready, idle_exit_s, backend="asyncio")  # pyzmq's sockets know no other loop
    except (zmq.ZMQError, ValueError) as error:
        ready.say(f"ERROR {error}")
        log.error("cannot serve: %s", error)  # noqa: TRY400 - the sentence is enough
        return 1
    return 0


async def _run(ready: ReadyPipe, idle_exit_s: float) -> None:
    daemon = Daemon(ready, idle_exit_s)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, daemon.end)
    log.info("pid %d at %s", os.getpid(), endpoints.runtime_dir())
    await daemon.run()
