"""`chrysalis serve`'s application on a port, with the token put into each request, which the suite cannot do itself."""

import sys
from typing import Final

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from launcher.serve_app import Endpoint

_TOKEN: Final = "conformance-suite-token"


def with_token(app: ASGIApp) -> ASGIApp:
    """The application for callers that have the token."""

    async def admitted(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            bearer = (b"authorization", f"Bearer {_TOKEN}".encode())
            scope = {**scope, "headers": [*scope["headers"], bearer]}
        await app(scope, receive, send)

    return admitted


if __name__ == "__main__":
    uvicorn.run(with_token(Endpoint().app(_TOKEN)), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
