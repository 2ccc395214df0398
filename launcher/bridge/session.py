"""The MCP server of one tool, both eras, sans IO: messages in, lines and calls out.

`initialize` opens the handshake era (2024-11-05 to 2025-11-25); a request whose `_meta` carries a protocol
version belongs to the stateless one (2026-07-28). Which it is, is decided for each request.
Specification: https://modelcontextprotocol.io/specification/2026-07-28
"""

from __future__ import annotations

from . import jsonrpc
from .calls import Call, failure
from .jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Malformed, Message

HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MODERN_VERSION = "2026-07-28"
UNSUPPORTED_VERSION = -32022
_UNSTRUCTURED = frozenset({"2024-11-05", "2025-03-26"})
_BATCHING = "2025-03-26"
_META = "io.modelcontextprotocol/"
_TTL_MS = 300_000
ARGUMENTS_MAX_BYTES = 1 << 20
_UNDER_WAY_MAX = 256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .tool import Tool


class Session:
    """One client's conversation.

    Args:
        tool: what is offered. write: takes a line to the client. start, stop: take a call to the daemon, and
            say that nobody waits for it any more. clock: monotonic seconds.

    Attributes:
        client: the client's name for itself, "" until it is known.
        engaged: whether a client has introduced itself, so that a daemon is worth looking for.
    """

    def __init__(
        self,
        tool: Tool,
        *,
        write: Callable[[bytes], None],
        start: Callable[[Call], None],
        stop: Callable[[Call], None],
        clock: Callable[[], float],
    ) -> None:
        self.client = ""
        self.engaged = False
        self.calls: dict[str | int, Call] = {}
        self._tool = tool
        self._write, self._start, self._stop, self._clock = write, start, stop, clock
        self._version = ""
        self._listed = False
        self._listeners: dict[str | int, bool] = {}
        self._methods = {
            "initialize": self._initialize,
            "ping": self._ping,
            "server/discover": self._discover,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "subscriptions/listen": self._listen,
        }

    def receive(self, line: bytes) -> None:
        """Serve one line; whatever it is, a request in it gets exactly one answer."""
        try:
            value = jsonrpc.parse(line)
        except Malformed as fault:
            self._refuse(fault)
            return
        batch = value if isinstance(value, list) and value else [value]
        for entry in batch:
            self._take(entry, alone=batch is not value)

    def refuse_too_long(self, head: bytes) -> None:
        """Answer a line that was skipped for its length."""
        self._refuse(Malformed(INVALID_REQUEST, "Invalid Request: the line is too long", jsonrpc.leading_id(head)))

    def answered(self, call: Call, envelope: bytes, *, is_error: bool) -> None:
        """The one answer to a call; further ones, and those to cancelled calls, go nowhere."""
        if self.calls.get(call.request) is not call:
            return
        del self.calls[call.request]
        self._write(jsonrpc.result_of_json(call.request, self._result(call, envelope, is_error=is_error)))

    def progressed(self, call: Call, done: float, total: float | None, message: str) -> None:
        """Tell how far a call is, if its client asked."""
        if call.token is None or self.calls.get(call.request) is not call or not call.advances(done):
            return
        params: dict[str, object] = {"progressToken": call.token, "progress": done}
        if total is not None:
            params["total"] = total
        if message:
            params["message"] = message
        self._write(jsonrpc.notification("notifications/progress", params))

    def tools_changed(self) -> None:
        """Tell every party that saw the tool, or asked to be told, that its description changed."""
        if self._version and self._listed:
            self._write(jsonrpc.notification("notifications/tools/list_changed"))
        for request_id, wanted in self._listeners.items():
            if wanted:
                meta: dict[str, object] = {"_meta": {_META + "subscriptionId": request_id}}
                self._write(jsonrpc.notification("notifications/tools/list_changed", meta))

    def close(self) -> None:
        """End the streams that were opened, in order."""
        for request_id in self._listeners:
            result = {"resultType": "complete", "_meta": {**self._server_meta(), _META + "subscriptionId": request_id}}
            self._write(jsonrpc.result(request_id, result))
        self._listeners.clear()

    def _take(self, value: object, *, alone: bool) -> None:
        try:
            message = jsonrpc.interpret(value)
            if not alone and self._version != _BATCHING:
                raise Malformed(INVALID_REQUEST, "Invalid Request: send one message per line", message.id)
            if message.id is None:
                self._notified(message)
            elif message.id not in self.calls and message.id not in self._listeners:
                self._request(message, message.id)
        except Malformed as fault:
            self._refuse(fault)

    def _refuse(self, fault: Malformed) -> None:
        if fault.id is None or (fault.id not in self.calls and fault.id not in self._listeners):
            self._write(jsonrpc.error(fault.id, fault.code, fault.message))

    def _notified(self, message: Message) -> None:
        if message.method != "notifications/cancelled":
            return
        request_id = message.params.get("requestId")
        if isinstance(request_id, str | int):
            self._listeners.pop(request_id, None)
            if call := self.calls.pop(request_id, None):
                self._stop(call)

    def _request(self, message: Message, request_id: str | int) -> None:
        meta = message.params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        modern = _META + "protocolVersion" in meta
        if modern:
            if not self._enter(meta, request_id):
                return
        elif message.method not in ("initialize", "ping") and not self._version:
            text = f"Invalid params: params._meta must carry {_META}protocolVersion (or send initialize first)"
            raise Malformed(INVALID_PARAMS, text, request_id)
        method = self._methods.get(message.method)
        if method is None or (modern and message.method in ("initialize", "ping")):
            raise Malformed(METHOD_NOT_FOUND, f"Method not found: {message.method[:80]}", request_id)
        method(request_id, message.params, modern)

    def _enter(self, meta: dict[str, object], request_id: str | int) -> bool:
        """Check the `_meta` of a stateless request; False when it was refused."""
        version = meta[_META + "protocolVersion"]
        if not isinstance(version, str) or not isinstance(meta.get(_META + "clientCapabilities"), dict):
            raise Malformed(
                INVALID_PARAMS,
                f"Invalid params: _meta needs {_META}protocolVersion and {_META}clientCapabilities",
                request_id,
            )
        if version != MODERN_VERSION:
            data = {"supported": [MODERN_VERSION], "requested": version}
            self._write(jsonrpc.error(request_id, UNSUPPORTED_VERSION, "Unsupported protocol version", data))
            return False
        self._introduce(meta.get(_META + "clientInfo"))
        return True

    def _introduce(self, info: object) -> None:
        self.engaged = True
        if isinstance(info, dict) and isinstance(info.get("name"), str):
            self.client = str(info["name"])[:100]

    def _server_info(self) -> dict[str, object]:
        return {"name": self._tool.name, "title": self._tool.title, "version": self._tool.version}

    def _server_meta(self) -> dict[str, object]:
        return {_META + "serverInfo": self._server_info()}

    def _answer(self, request_id: str | int, body: dict[str, object], *, modern: bool, cached: bool = False) -> None:
        if modern:
            body = {"resultType": "complete", **body, "_meta": self._server_meta()}
        if modern and cached:
            body.update(ttlMs=_TTL_MS, cacheScope="private")
        self._write(jsonrpc.result(request_id, body))

    def _initialize(self, request_id: str | int, params: dict[str, object], modern: bool) -> None:
        wanted = params.get("protocolVersion")
        self._version = wanted if isinstance(wanted, str) and wanted in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0]
        self._introduce(params.get("clientInfo"))
        body: dict[str, object] = {
            "protocolVersion": self._version,
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": self._server_info(),
        }
        if self._tool.instructions:
            body["instructions"] = self._tool.instructions
        self._answer(request_id, body, modern=modern)

    def _ping(self, request_id: str | int, params: dict[str, object], modern: bool) -> None:
        del params
        self._answer(request_id, {}, modern=modern)

    def _discover(self, request_id: str | int, params: dict[str, object], modern: bool) -> None:
        del params
        body: dict[str, object] = {
            "supportedVersions": [MODERN_VERSION],
            "capabilities": {"tools": {"listChanged": True}},
        }
        if self._tool.instructions:
            body["instructions"] = self._tool.instructions
        self._answer(request_id, body, modern=modern, cached=True)

    def _list_tools(self, request_id: str | int, params: dict[str, object], modern: bool) -> None:
        if params.get("cursor") is not None:
            raise Malformed(INVALID_PARAMS, "Invalid params: there is one page, and no such cursor", request_id)
        self._listed = True
        self._answer(request_id, {"tools": [self._tool.definition()]}, modern=modern, cached=True)

    def _call_tool(self, request_id: str | int, params: dict[str, object], modern: bool) -> None:
        name = params.get("name")
        if name != self._tool.name:
            shown = name if isinstance(name, str) else "(none)"
            raise Malformed(
                INVALID_PARAMS, f"Unknown tool: {shown[:80]}; the only tool is {self._tool.name}", request_id
            )
        arguments = params.get("arguments")
        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        call = Call(
            request_id,
            self._arguments(arguments, request_id),
            now=self._clock(),
            token=token if isinstance(token, str | int) and not isinstance(token, bool) else None,
            modern=modern,
            structured=modern or self._version not in _UNSTRUCTURED,
        )
        full = len(self.calls) >= _UNDER_WAY_MAX
        self.calls[request_id] = call
        if len(call.arguments) > ARGUMENTS_MAX_BYTES:
            text = f"The arguments have {len(call.arguments)} bytes; the limit is {ARGUMENTS_MAX_BYTES}."
            self.answered(call, failure("too_large", text, "Send them in several calls."), is_error=True)
        elif full:
            text = f"{_UNDER_WAY_MAX} calls are under way."
            self.answered(call, failure("busy", text, "Wait for one to end.", retryable=True), is_error=True)
        else:
            self._start(call)

    def _arguments(self, arguments: object, request_id: str | int) -> bytes:
        try:
            return jsonrpc.dump({} if arguments is None else arguments)
        except (ValueError, RecursionError):
            raise Malformed(INVALID_PARAMS, "Invalid params: a number in arguments is too large", request_id) from None

    def _listen(self, request_id: str | int, params: dict[str, object], modern: bool) -> None:
        if not modern:
            raise Malformed(METHOD_NOT_FOUND, "Method not found: subscriptions/listen", request_id)
        wanted = params.get("notifications")
        if not isinstance(wanted, dict):
            raise Malformed(INVALID_PARAMS, "Invalid params: notifications must be an object", request_id)
        tools = wanted.get("toolsListChanged") is True
        self._listeners[request_id] = tools
        honored: dict[str, object] = {"toolsListChanged": True} if tools else {}
        body: dict[str, object] = {"notifications": honored, "_meta": {_META + "subscriptionId": request_id}}
        self._write(jsonrpc.notification("notifications/subscriptions/acknowledged", body))

    def _result(self, call: Call, envelope: bytes, *, is_error: bool) -> bytes:
        """The CallToolResult, the envelope spliced in as it came: as text, and structured where that is known."""
        envelope = envelope.replace(b"\n", b" ").replace(b"\r", b" ")
        parts = [b'"content":[{"type":"text","text":', jsonrpc.dump(envelope.decode(errors="replace")), b"}]"]
        if call.structured:
            parts += [b',"structuredContent":', envelope]
        parts.append(b',"isError":true' if is_error else b',"isError":false')
        if call.modern:
            parts += [b',"resultType":"complete","_meta":', jsonrpc.dump(self._server_meta())]
        return b"{" + b"".join(parts) + b"}"
