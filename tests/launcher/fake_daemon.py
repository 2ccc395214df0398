"""A test partner: a daemon's client side on a real ROUTER, that does what each call's action says.

    python -m tests.launcher.fake_daemon ENDPOINT LOG

echo answers its arguments · wait answers after params.ms · steps tells progress params.n times · hang never
answers · die exits without a word, each time or (params.once) only at the first attempt · notice announces a slot ·
error answers an error. Each message received is a line of JSON in LOG. Ends with its stdin.
"""

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import zmq

from protocol.limits import PROTOCOL_VERSION
from protocol.messages import Answer, Call, Hello, Notice, Progress, Welcome, decode_from_client, encode


class FakeDaemon:
    def __init__(self, endpoint: str, log: str) -> None:
        self._socket = zmq.Context.instance().socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self._socket.bind(endpoint)
        self._log = Path(log).open("a", buffering=1)  # noqa: SIM115 - open as long as the process
        self._due: list[tuple[float, bytes, bytes]] = []

    def run(self) -> None:
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(sys.stdin.buffer, zmq.POLLIN)
        print("READY", flush=True)
        while True:
            wait = min((due for due, _, _ in self._due), default=time.monotonic() + 60) - time.monotonic()
            events = dict(poller.poll(max(0, wait) * 1000))
            if sys.stdin.fileno() in events:
                return
            if self._socket in events:
                peer, body = self._socket.recv_multipart()
                self.take(peer, decode_from_client(body))
            now = time.monotonic()
            for entry in [entry for entry in self._due if entry[0] <= now]:
                self._due.remove(entry)
                self.send(entry[1], entry[2])

    def send(self, peer: bytes, body: bytes) -> None:
        with contextlib.suppress(zmq.ZMQError):  # the bridge is gone
            self._socket.send_multipart([peer, body])

    def take(self, peer: bytes, message: Any) -> None:
        told = msgspec.to_builtins(message)
        told["arguments"] = told.get("arguments") and bytes(message.arguments).decode()
        self._log.write(json.dumps(told) + "\n")
        if isinstance(message, Hello):
            refused = os.environ.get("FAKE_REFUSES", "")
            welcome = Welcome(v=PROTOCOL_VERSION, pid=os.getpid(), version="0", slot="", refused=refused)
            self.send(peer, encode(welcome))
        elif isinstance(message, Call):
            self.serve(peer, message)

    def serve(self, peer: bytes, call: Call) -> None:
        arguments = msgspec.json.decode(call.arguments)
        arguments = arguments if isinstance(arguments, dict) else {"action": "echo", "was": arguments}
        params = arguments.get("params") or {}
        action = arguments.get("action")
        if action == "hang":
            return
        if action == "die" and (call.attempt == 1 or not params.get("once")):
            os._exit(1)
        if action == "notice":
            self.send(peer, encode(Notice(slot=params["slot"], instructions="")))
        for step in range(params.get("n", 0)):
            self.send(peer, encode(Progress(id=call.id, done=step, total=params["n"], message="step")))
        status = "error" if action == "error" else "ok"
        data = {"arguments": arguments, "attempt": call.attempt}
        body = {"status": status, "severity": "INFO", "summary": f"Served {action}.", "data": data}
        answer = encode(Answer(id=call.id, envelope=msgspec.json.encode(body), is_error=action == "error"))
        self._due.append((time.monotonic() + params.get("ms", 0) / 1000, peer, answer))


if __name__ == "__main__":
    FakeDaemon(sys.argv[1], sys.argv[2]).run()
    os._exit(0)
