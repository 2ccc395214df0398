"""The bridge's own MessagePack and ZMTP against msgspec and libzmq."""

import contextlib
import uuid

import msgspec
import pytest
import zmq
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.bridge import msgpack, zmtp
from launcher.bridge.calls import Call
from protocol import messages

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text() | st.binary()
)
VALUES = st.recursive(SCALARS, lambda inner: st.dictionaries(st.text(max_size=9), inner, max_size=20), max_leaves=40)
READABLE = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=9), inner, max_size=20),
    max_leaves=40,
)


@settings(max_examples=50)
@given(VALUES)
def test_what_the_bridge_packs_msgspec_reads(value):
    assert msgspec.msgpack.decode(msgpack.pack(value)) == value


@settings(max_examples=50)
@given(READABLE)
def test_what_msgspec_packs_the_bridge_reads(value):
    assert msgpack.unpack(msgspec.msgpack.encode(value)) == value


@given(st.binary(max_size=200))
def test_noise_is_read_or_refused_never_anything_else(data):
    with contextlib.suppress(msgpack.Undecodable):
        msgpack.unpack(data)


@pytest.mark.parametrize("size", [31, 32, 255, 256, 65_535, 65_536, 1 << 20])
def test_text_bytes_and_lists_of_every_length_class_are_read(size):
    for value in ("x" * size, b"x" * size, [1] * size, {str(n): n for n in range(min(size, 70_000))}):
        assert msgpack.unpack(msgspec.msgpack.encode(value)) == value


def test_a_truncated_or_endless_value_is_refused():
    whole = msgspec.msgpack.encode({"a": ["x", 1.5, b"y"]})
    for end in range(len(whole)):
        with pytest.raises(msgpack.Undecodable):
            msgpack.unpack(whole[:end])
    for data in (whole + b"\x00", b"\x91" * 100 + b"\x00", b"\xdd\xff\xff\xff\xff", b"\xc1"):
        with pytest.raises(msgpack.Undecodable):
            msgpack.unpack(data)


def test_what_is_outside_of_the_subset_is_not_packed():
    with pytest.raises(TypeError):
        msgpack.pack([1])
    with pytest.raises(OverflowError):
        msgpack.pack(2**64)


def test_every_message_of_the_bridge_is_one_that_the_daemon_decodes():
    call = Call(1, b'{"domain":"meta"}', now=10.0, token="t", modern=False, structured=True)
    wire = messages.decode_from_client(msgpack.pack(call.wire(12.0)))
    assert wire == messages.Call(
        id=call.id, arguments=b'{"domain":"meta"}', deadline_ms=598_000, progress=True, attempt=1
    )
    hello = {"t": "hello", "v": 1, "kind": "bridge", "pid": 1, "client": "x"}
    assert messages.decode_from_client(msgpack.pack(hello)) == messages.Hello(v=1, kind="bridge", pid=1, client="x")
    for body, expected in (
        ({"t": "alive"}, messages.Alive()),
        ({"t": "bye"}, messages.Bye()),
        ({"t": "cancel", "id": "x"}, messages.Cancel(id="x")),
    ):
        assert messages.decode_from_client(msgpack.pack(body)) == expected


@given(st.binary(max_size=300), st.booleans(), st.floats(0, 1e9), st.text(max_size=50))
def test_every_message_of_the_daemon_is_one_that_the_bridge_reads(body, is_error, done, text):
    for message, fields in (
        (messages.Answer(id="x", envelope=body, is_error=is_error), {"id": "x", "envelope": body}),
        (messages.Progress(id="x", done=done, total=None, message=text), {"id": "x", "done": done}),
        (messages.Notice(slot=text, instructions=text), {"slot": text, "instructions": text}),
        (messages.Welcome(pid=1, version=text, refused=text), {"pid": 1, "version": text}),
    ):
        read = msgpack.unpack(messages.encode(message))
        assert read["t"] == type(message).__name__.lower()
        assert {key: read[key] for key in fields} == fields


def _pump(peer, stream, until):
    """Move bytes between a sans-IO peer and its socket until `until(messages so far)`."""
    got = []
    stream.settimeout(10)
    while not until(got):
        if peer.outgoing:
            stream.sendall(peer.outgoing)
            peer.outgoing.clear()
        if until(got):
            break
        got += peer.feed(stream.recv(3))
    return got


@pytest.mark.parametrize("size", [0, 1, 255, 256, 70_000])
def test_a_real_router_takes_the_bridge_for_a_dealer(tmp_path, size):
    import socket

    path = tmp_path / f"r{uuid.uuid4().hex[:8]}"
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        router.setsockopt(zmq.LINGER, 0)
        router.bind(f"ipc://{path}")
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(str(path))
            peer = zmtp.Peer()
            peer.send(b"q" * size)
            _pump(peer, stream, lambda _: peer.ready and not peer.outgoing)
            assert router.poll(10_000)
            identity, body = router.recv_multipart()
            assert body == b"q" * size
            router.send_multipart([identity, b"a" * size])
            assert _pump(peer, stream, bool) == [b"a" * size]


def test_a_router_that_pings_is_answered_and_keeps_the_connection(tmp_path):
    peer = zmtp.Peer()
    peer.feed(b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32) + zmtp.frame(b"\x05READY", 4))
    peer.outgoing.clear()
    peer.feed(zmtp.frame(b"\x04PING\x00\x0actx", 4))
    assert peer.outgoing == zmtp.frame(b"\x04PONGctx", 4)


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 400 Bad Request\r\n".ljust(64),
        b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"CURVE".ljust(20, b"\0") + bytes(32),
        b"\xff" + bytes(8) + b"\x7f\x02\x00" + b"NULL".ljust(20, b"\0") + bytes(32),
    ],
)
def test_a_peer_of_another_kind_is_refused(data):
    with pytest.raises(zmtp.WireError):
        zmtp.Peer().feed(data)


@pytest.mark.parametrize(
    "frame", [zmtp.frame(b"x", 1), b"\x02" + (1 << 40).to_bytes(8, "big"), zmtp.frame(b"\x05ERROR", 4)]
)
def test_a_frame_that_cannot_be_served_ends_the_connection(frame):
    peer = zmtp.Peer()
    peer.feed(b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32))
    with pytest.raises(zmtp.WireError):
        peer.feed(frame)
