"""What stands before the HTTP endpoint: only loopback names, known origins, and callers with the token.

A page in the user's browser can reach loopback; Host (DNS rebinding), Origin and the token keep it out.
"""

import hmac
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_SAFE_HEADERS: Final = "authorization, content-type, accept, last-event-id, mcp-protocol-version, mcp-session-id"
_MODERN_HEADERS: Final = "mcp-method, mcp-name"

Headers = list[tuple[bytes, bytes]]


class Gate:
    """ASGI middleware: 421 for a wrong Host, 403 for a wrong Origin, 401 for a wrong token, in this order.

    Args:
        app: what lies behind.
        token: the bearer token.
        origins: web origins allowed beside those of loopback, as `https://ui.example`.
    """

    def __init__(self, app: ASGIApp, token: str, origins: Iterable[str] = ()) -> None:
        self._app = app
        self._token = token.encode()
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.lower(): value for name, value in scope["headers"]}
        origin = headers.get(b"origin", b"").decode("latin-1")
        if not _is_loopback(f"//{headers.get(b'host', b'').decode('latin-1')}"):
            await _answer(send, 421, b"Only loopback host names are served here.\n")
        elif origin and not self._knows(origin):
            await _answer(send, 403, b"This origin is not allowed; start with --origin to allow it.\n")
        elif scope["method"] == "OPTIONS" and origin:
            await _answer(send, 204, b"", _preflight(origin))
        elif not self._admits(headers.get(b"authorization", b"")):
            challenge = [(b"www-authenticate", b'Bearer realm="chrysalis"'), *_cors(origin)]
            await _answer(send, 401, b"Authorization: Bearer TOKEN is missing or wrong.\n", challenge)
        else:
            await self._app(scope, receive, _with_cors(send, origin))

    def _knows(self, origin: str) -> bool:
        return origin in self._origins or (origin.startswith("http://") and _is_loopback(origin))

    def _admits(self, authorization: bytes) -> bool:
        scheme, _, token = authorization.partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)


def _is_loopback(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return False
    name = f"[{host}]" if host and ":" in host else host
    clean = not (parts.path or parts.query or parts.fragment or parts.username or parts.password)
    return clean and name in _LOOPBACK and (port is None or port > 0)


def _cors(origin: str) -> Headers:
    if not origin:
        return []
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", b"mcp-session-id, www-authenticate"),
        (b"vary", b"Origin"),
    ]


def _preflight(origin: str) -> Headers:
    return [
        *_cors(origin),
        (b"access-control-allow-methods", b"GET, POST, DELETE"),
        (b"access-control-allow-headers", f"{_SAFE_HEADERS}, {_MODERN_HEADERS}".encode()),
        (b"access-control-max-age", b"600"),
    ]


def _with_cors(send: Send, origin: str) -> Send:
    if not origin:
        return send

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *_cors(origin)]}
        await send(message)

    return sending


async def _answer(send: Send, status: int, body: bytes, headers: Headers | None = None) -> None:
    plain: Any = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": plain + (headers or [])})
    await send({"type": "http.response.body", "body": body})
