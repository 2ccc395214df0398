"""ZMTP 3.0 with the NULL mechanism, the DEALER's side of it, sans IO: what a ZeroMQ ROUTER takes for a peer.

A bridge has one stream socket to one daemon; speaking the wire protocol itself spares it libzmq's threads
and memory, and tells it at once when the daemon is gone. Multipart messages do not occur.
Specification: https://rfc.zeromq.org/spec/23/
"""

# ruff: noqa: PLR2004 - the numbers are the protocol's own

from __future__ import annotations

_GREETING_BYTES = 64
_GREETING = b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
_MORE, _LONG, _COMMAND = 1, 2, 4
MESSAGE_MAX_BYTES = 16 << 20


class WireError(Exception):
    """The peer does not speak what it must; the connection is of no use."""


def frame(body: bytes, flags: int = 0) -> bytes:
    """One frame as it goes over the wire."""
    if len(body) > 0xFF:
        return bytes((flags | _LONG,)) + len(body).to_bytes(8, "big") + body
    return bytes((flags, len(body))) + body


def _ready() -> bytes:
    properties = b"".join(
        bytes((len(name),)) + name + len(value).to_bytes(4, "big") + value
        for name, value in ((b"Socket-Type", b"DEALER"), (b"Identity", b""))
    )
    return frame(b"\x05READY" + properties, _COMMAND)


class Peer:
    """The state of one connection: feed it what was read, send what `outgoing` holds.

    `ready` turns true when the handshake is over; until then `send` keeps messages back.
    """

    def __init__(self) -> None:
        self.outgoing = bytearray(_GREETING)
        self.ready = False
        self._greeted = False
        self._incoming = bytearray()
        self._waiting = bytearray()

    def send(self, body: bytes) -> None:
        """Queue one single-frame message."""
        (self.outgoing if self.ready else self._waiting).extend(frame(body))

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that `data` completes.

        Raises:
            WireError: the peer broke the protocol, or a message is larger than `MESSAGE_MAX_BYTES`.
        """
        self._incoming += data
        if not self._greeted and not self._greet():
            return []
        messages: list[bytes] = []
        while (taken := self._frame()) is not None:
            flags, body = taken
            if flags & _COMMAND:
                self._command(body)
            elif flags & _MORE:
                raise WireError("a message of several frames")
            else:
                messages.append(body)
        return messages

    def _greet(self) -> bool:
        if len(self._incoming) < _GREETING_BYTES:
            return False
        greeting = bytes(self._incoming[:_GREETING_BYTES])
        if greeting[0] != 0xFF or greeting[9] != 0x7F or greeting[10] < 3 or greeting[12:32].rstrip(b"\0") != b"NULL":
            raise WireError("no ZMTP 3 peer without authentication")
        del self._incoming[:_GREETING_BYTES]
        self._greeted = True
        self.outgoing += _ready()
        return True

    def _frame(self) -> tuple[int, bytes] | None:
        data = self._incoming
        if len(data) < 2:
            return None
        head = 9 if data[0] & _LONG else 2
        if len(data) < head:
            return None
        size = int.from_bytes(data[1:head], "big")
        if size > MESSAGE_MAX_BYTES:
            raise WireError(f"a message of {size} bytes")
        if len(data) < head + size:
            return None
        flags, body = data[0], bytes(data[head : head + size])
        del data[: head + size]
        return flags, body

    def _command(self, body: bytes) -> None:
        name = body[1 : 1 + body[0]] if body else b""
        if name == b"READY":
            self.ready = True
            self.outgoing += self._waiting
            self._waiting.clear()
        elif name == b"ERROR":
            raise WireError("refused by the peer")
        elif name == b"PING":  # ZMTP 3.1: a time to live of two bytes, then a context to send back
            self.outgoing += frame(b"\x04PONG" + body[7:], _COMMAND)
