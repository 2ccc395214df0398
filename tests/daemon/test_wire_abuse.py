"""What does not speak the protocol at all: the daemon's sockets under garbage."""

import contextlib
import os
import socket
import struct

import msgspec
import zmq

from protocol.messages import Call, Hello, Welcome, decode_to_client, encode


def raw_socket(stack, name="bridge.sock"):
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stream.settimeout(5)
    stream.connect(str(stack.runtime / name))
    return stream


def dealer(stack, context):
    peer = context.socket(zmq.DEALER)
    peer.setsockopt(zmq.LINGER, 0)
    peer.setsockopt(zmq.RCVTIMEO, 5_000)
    peer.connect(stack.endpoint)
    return peer


def still_serves(client):
    assert client.call("meta", "discover")["status"] == "ok"


def test_garbage_connections_of_many_kinds_do_not_end_the_daemon(stack, client, rng):
    """HTTP, half greetings, random bytes, silence: on the clients' socket and on the actors'."""
    greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL".ljust(54, b"\0")
    kinds = [b"", b"GET / HTTP/1.1\r\n\r\n", greeting[:5], greeting, greeting + b"\x04\x05READY", b"\xff" * 4_000]
    for number in range(240):
        stream = raw_socket(stack, ("bridge.sock", "actors.sock")[number % 2])
        with contextlib.suppress(BrokenPipeError):
            stream.sendall(rng.choice(kinds) + bytes(rng.randrange(256) for _ in range(rng.randrange(60))))
        stream.close()
    still_serves(client)


def test_frames_that_are_no_messages_are_dropped_and_the_rest_served(stack, client, rng):
    """Random bytes, truncated messages, wrong types, unknown tags, extra frames, depth."""
    hello = encode(Hello(kind="test", pid=os.getpid()))
    call = encode(Call(id="x", arguments=b"{}"))
    bad = [
        b"", b"\xc1", hello[:-3], call[:-1], call + b"\x00",
        msgspec.msgpack.encode({"t": "nonsense"}), msgspec.msgpack.encode({"t": "call", "id": 7, "arguments": b""}),
        msgspec.msgpack.encode([1, 2, 3]), b"\x91" * 50_000 + b"\x00", b"\xdd\xff\xff\xff\xff",
        struct.pack(">Bd", 0xCB, float("nan")),
    ]  # fmt: skip
    context = zmq.Context()
    peer = dealer(stack, context)
    for frame in bad + [bytes(rng.randrange(256) for _ in range(rng.randrange(200))) for _ in range(300)]:
        peer.send(frame)
    peer.send_multipart([b"two", b"frames"])
    peer.send(hello)
    assert isinstance(decode_to_client(peer.recv()), Welcome)
    peer.close()
    context.term()
    still_serves(client)


def test_a_message_beyond_the_limit_costs_its_sender_the_connection_and_nobody_else_anything(stack, client):
    """Two megabytes in one frame."""
    context = zmq.Context()
    peer = dealer(stack, context)
    peer.send(b"x" * (2 << 20))
    peer.close()
    context.term()
    still_serves(client)


def test_calls_before_hello_are_not_served_and_a_later_hello_is(stack):
    """A peer that the daemon does not know must greet first."""
    context = zmq.Context()
    peer = dealer(stack, context)
    peer.send(encode(Call(id="early", arguments=b'{"domain":"meta","action":"discover"}')))
    peer.send(encode(Hello(kind="test", pid=os.getpid())))
    assert isinstance(decode_to_client(peer.recv()), Welcome)
    peer.send(encode(Call(id="late", arguments=b'{"domain":"meta","action":"discover"}')))
    answer = decode_to_client(peer.recv())
    assert answer.id == "late" and not answer.is_error
    peer.close()
    context.term()


def test_an_actor_that_nobody_started_is_not_listened_to(stack, client):
    """A stranger on the actors' socket cannot answer calls or report health."""
    from protocol.messages import Pong, Ready

    context = zmq.Context()
    stranger = context.socket(zmq.DEALER)
    stranger.setsockopt(zmq.IDENTITY, b"memory.deadbeef")
    stranger.setsockopt(zmq.LINGER, 0)
    stranger.connect(f"ipc://{stack.runtime / 'actors.sock'}")
    stranger.send(encode(Ready(name="memory", pid=1)))
    stranger.send(encode(Pong(n=10**9)))
    pid = client.control("status")["actors"]["memory"]["pid"]
    still_serves(client)
    assert client.control("status")["actors"]["memory"]["pid"] == pid
    stranger.close()
    context.term()


def test_more_calls_at_once_than_a_client_may_have_are_busy_not_lost(stack):
    """Each of two hundred is answered; those beyond the limit say when to try again."""
    with stack.client("flood") as flood:
        arguments = b'{"domain":"memory","action":"recall","params":{"query":"anything at all"}}'
        calls = [flood.begin(arguments, deadline_ms=110_000) for _ in range(200)]
        answers = [flood.wait(call, 110_000) for call in calls]
    codes = [answer["data"]["code"] for answer in answers if answer["status"] == "error"]
    assert set(codes) <= {"busy"}
    assert all(a["data"]["retry_after_ms"] for a in answers if a["status"] == "error")
    assert len(answers) == 200
