"""The `chrysalis` command: finds the module of the subcommand asked for and imports no other."""

import argparse
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from protocol.client import NoDaemon
from protocol.endpoints import EndpointError

Subparsers = Any
"""What argparse's add_subparsers returns; its class has no public name."""

MODULES: Final[Mapping[str, str]] = {
    "demo": "launcher.demo",
    "daemon": "launcher.operate",
    "status": "launcher.operate",
    "call": "launcher.operate",
    "stop": "launcher.operate",
    "restart": "launcher.operate",
    "doctor": "launcher.doctor",
    "service": "launcher.service",
    "client": "launcher.client_add",
    "llm": "launcher.llm_cli",
    "memory": "launcher.memory_cli",
    "backup": "launcher.memory_cli",
    "serve": "launcher.serve",
}
EXIT_ERROR: Final = 1
EXIT_USAGE: Final = 2
EXIT_NO_DAEMON: Final = 3


def build_parser(wanted: Sequence[str]) -> argparse.ArgumentParser:
    """A parser that knows the subcommands of the modules wanted."""
    parser = argparse.ArgumentParser(
        prog="chrysalis",
        description="Memory, exact reasoning and measured advice for small local language models.",
        epilog="Every command takes --help. A first look: chrysalis demo",
    )
    parser.add_argument("--version", action="version", version=f"chrysalis {_version()}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in dict.fromkeys(wanted):
        importlib.import_module(module).register(subparsers)
    return parser


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - costs 30 ms, needed for one option

    return version("chrysalis-mcp")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code: 0 ok, 1 error, 2 wrong usage, 3 no daemon."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    named = MODULES.get(arguments[0]) if arguments else None
    options = build_parser([named] if named else list(MODULES.values())).parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except NoDaemon as missing:
        print(missing, file=sys.stderr)
        return EXIT_NO_DAEMON
    except (EndpointError, ValueError) as error:
        print(f"chrysalis: {error}", file=sys.stderr)
        return EXIT_ERROR
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; nothing to add
        return EXIT_ERROR
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
