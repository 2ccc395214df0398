"""`chrysalis serve`: the tool over streamable HTTP on loopback, for browsers and clients without stdio."""

import argparse
import os
import secrets
import signal
import socket
import sys
from pathlib import Path
from typing import Any, Final

from protocol.endpoints import EndpointError, state_dir

from . import autostart

HOST: Final = "127.0.0.1"
PORT: Final = 8765
_TOKEN_MIN_CHARS: Final = 16
_SHUTDOWN_S: Final = 2
_BACKLOG: Final = 128


class TokenError(Exception):
    """The token file cannot be used; says why."""


def register(subparsers: Any) -> None:
    """Add `serve` to the command line."""
    parser = subparsers.add_parser(
        "serve",
        help="serve MCP over HTTP on loopback",
        description="Serve MCP over streamable HTTP on 127.0.0.1, for those who bring the token.",
    )
    parser.add_argument("--port", type=int, default=PORT, help="0 takes a free one (default: %(default)s)")
    parser.add_argument("--token-file", type=Path, help="where the token is kept (default: in the state directory)")
    parser.add_argument(
        "--origin", action="append", default=[], help="a web origin to allow beside loopback's, as https://ui.example"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve until told to stop: 0 then, 1 when it cannot, 3 when no daemon can be had."""
    try:
        token_file: Path = options.token_file or Path(state_dir()) / "serve.token"
        token = load_token(token_file)
        autostart.ensure()
        listener = _listen(options.port)
    except (autostart.StartError, EndpointError) as error:
        print(error, file=sys.stderr)
        return 3
    except (TokenError, OSError) as error:
        print(f"Cannot serve: {error}", file=sys.stderr)
        return 1
    return _serve(listener, token, token_file, options.origin)


def load_token(path: Path) -> str:
    """The token in the file, made on first use; only its owner may read it.

    Raises:
        TokenError: others may read it, or what it holds is too short to be one.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return _new_token(path)
    with os.fdopen(descriptor, "rb") as file:
        if os.fstat(file.fileno()).st_mode & 0o077:
            raise TokenError(f"others may read {path}; run: chmod 600 {path}")
        token = file.read(4096).decode("ascii", "replace").strip()
    if len(token) < _TOKEN_MIN_CHARS or not token.isprintable() or " " in token:
        raise TokenError(f"{path} holds no token of at least {_TOKEN_MIN_CHARS} characters; delete it to get a new one")
    return token


def _new_token(path: Path) -> str:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    token = secrets.token_urlsafe(32)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(token + "\n")
    return token


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(_BACKLOG)  # before the address is told
    except BaseException:
        listener.close()
        raise
    return listener


def _serve(listener: socket.socket, token: str, token_file: Path, origins: list[str]) -> int:
    import uvicorn  # noqa: PLC0415 - the SDK and its server cost a second; refusals come before

    from .serve_app import PATH, Endpoint  # noqa: PLC0415

    print(f"http://{HOST}:{listener.getsockname()[1]}{PATH}", flush=True)
    print(f"Authorization: Bearer with the token in {token_file}", flush=True)
    config = uvicorn.Config(
        Endpoint().app(token, origins),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_S,
    )
    for number in (signal.SIGTERM, signal.SIGINT):  # the server ends in order, and then raises them once more
        signal.signal(number, _heard)
    uvicorn.Server(config).run(sockets=[listener])
    return 0


def _heard(number: int, frame: object) -> None:
    del number, frame
