"""Sending on a ROUTER now or not at all: nothing in the daemon ever waits for a peer to take a message."""

import asyncio
import os

import zmq
import zmq.asyncio

from protocol.limits import SOCKET_HWM
from protocol.messages import ActorMessage, ClientMessage, encode


def router(context: zmq.asyncio.Context, max_bytes: int) -> zmq.asyncio.Socket:
    """A ROUTER that reports what it cannot deliver, takes no larger message, and serves this user only."""
    socket = context.socket(zmq.ROUTER)
    for option, number in (
        (zmq.ROUTER_MANDATORY, 1),
        (zmq.SNDHWM, SOCKET_HWM),
        (zmq.RCVHWM, SOCKET_HWM),
        (zmq.LINGER, 1_000),
        (zmq.MAXMSGSIZE, max_bytes),
        (zmq.HANDSHAKE_IVL, 1_000),
        (zmq.IPC_FILTER_UID, os.getuid()),
    ):
        socket.setsockopt(option, number)
    return socket


def send_now(socket: zmq.asyncio.Socket, identity: bytes, message: ClientMessage | ActorMessage) -> bool:
    """Send one message to one peer; False when it is gone (EHOSTUNREACH) or its queue is full (EAGAIN)."""
    sent = socket.send_multipart([identity, encode(message)], flags=zmq.NOBLOCK)
    assert isinstance(sent, asyncio.Future)  # with NOBLOCK it is done when it returns
    return sent.exception() is None
