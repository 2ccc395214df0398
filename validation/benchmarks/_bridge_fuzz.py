"""Lines for an MCP stdio server, sound and broken, with what an honest server owes for each."""

import json
import random
import uuid
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

_BROKEN_CALL: Final = '{"jsonrpc":"2.0","id":"%s","method":"tools/call","params":{"name":"chrysalis","arguments":%s}}'


class Line(Struct, frozen=True):
    """One line and what it earns: `id` is the only id an answer to it may have besides null; `answers` 0 or 1.

    `sure`: the answer must carry the id.
    """

    kind: str
    text: bytes
    id: Any
    answers: int
    sure: bool


def _request(rng: random.Random, method: str, params: Any = None) -> dict[str, Any]:
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": _id(rng), "method": method}
    if params is not None:
        body["params"] = params
    return body


def _id(rng: random.Random) -> str:
    return uuid.UUID(int=rng.getrandbits(128)).hex


def _value(rng: random.Random, depth: int = 0) -> Any:
    scalars = [None, True, -1, 10**30, 1e300, "", "é\u2028\x00", "\ud800 lone", "\U0001f98b", "None", "[1"]
    kind = rng.randrange(4 if depth < 4 else 2)
    if kind == 2:
        return [_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 3:
        return {
            rng.choice(["domain", "params", "k", "\udfff"]): _value(rng, depth + 1) for _ in range(rng.randrange(4))
        }
    return rng.choice(scalars)


def _sound(rng: random.Random) -> dict[str, Any]:
    arguments = {"domain": "memory", "action": "echo", "params": {"x": _value(rng)}}
    return rng.choice(
        [
            _request(rng, "ping"),
            _request(rng, "tools/list", {}),
            _request(rng, "tools/call", {"name": "chrysalis", "arguments": arguments}),
            _request(rng, "tools/call", {"name": "chrysalis", "arguments": rng.choice([None, "{}", [], 3, arguments])}),
            _request(rng, "tools/call", {"name": rng.choice(["other", None, 3])}),
            _request(rng, rng.choice(["", "resources/list", "x" * 5000, "tools/call\n", "rpc.\ud800"]), {}),
            _request(rng, "tools/list", rng.choice([[], "x", 3, True])),
            {**_request(rng, "ping"), "jsonrpc": rng.choice([None, "1.0", 2.0])},
            {**_request(rng, "ping"), "method": rng.choice([None, 3, {}])},
        ]
    )


def _broken(rng: random.Random) -> tuple[str, bytes]:
    key = _id(rng)
    deep = "[" * 10_000 + "]" * 10_000
    sound = json.dumps(_sound(rng)).encode()
    at = rng.randrange(1, len(sound))
    choices: list[tuple[str, bytes]] = [
        ("not a number", (_BROKEN_CALL % (key, rng.choice(["NaN", "Infinity", "-Infinity"]))).encode()),
        ("too deep", (_BROKEN_CALL % (key, deep)).encode()),
        ("cut off", sound[:at]),
        ("not UTF-8", (_BROKEN_CALL % (key, '"x"')).encode().replace(b"x", b"\xff\xfe")),
        (
            "bad id",
            json.dumps({"jsonrpc": "2.0", "id": rng.choice([None, 1.5, True, [], {}]), "method": "ping"}).encode(),
        ),
        ("no object", rng.choice([b"3", b'"x"', b"null", b"true", b"[]"])),
        ("noise", bytes(rng.randrange(14, 256) for _ in range(rng.randrange(1, 80)))),
    ]
    return rng.choice(choices)


def _mutated(rng: random.Random) -> bytes:
    data = bytearray(json.dumps(_sound(rng)).encode())
    for _ in range(rng.randrange(1, 4)):
        data[rng.randrange(len(data))] = rng.randrange(32, 256)
    return bytes(data)


def _owed(kind: str, text: bytes) -> Line:
    """What the JSON-RPC rules say of any line, by an independent reading."""
    try:
        value = json.loads(text.decode(), parse_constant=float)
    except (ValueError, RecursionError):
        return Line(kind, text, None, 1, sure=False)
    if not isinstance(value, dict):
        return Line(kind, text, None, 1, sure=False)
    given = value.get("id")
    usable = isinstance(given, str | int) and not isinstance(given, bool)
    response = value.get("method") is None and ("result" in value or "error" in value)
    sound = value.get("jsonrpc") == "2.0" and isinstance(value.get("method"), str)
    sound = sound and isinstance(value.get("params"), dict | None)
    if "id" not in value:
        return Line(kind, text, None, 0 if (sound or (response and value.get("jsonrpc") == "2.0")) else 1, sure=False)
    if response and usable and value.get("jsonrpc") == "2.0":
        return Line(kind, text, None, 0, sure=False)
    return Line(kind, text, given if usable else None, 1, sure=usable)


def lines(seed: int, count: int) -> Iterator[Line]:
    """`count` lines: half of them sound, the rest broken or mutated; the same for the same seed."""
    rng = random.Random(seed)
    while count:
        draw = rng.random()
        if draw < 0.5:
            line = _owed(
                "sound",
                json.dumps(_sound(rng), ensure_ascii=rng.random() < 0.5, default=str).encode(errors="surrogatepass"),
            )
        elif draw < 0.55:
            text = {
                "jsonrpc": "2.0",
                "method": rng.choice(["notifications/initialized", "x"]),
                "params": {"requestId": 1},
            }
            line = _owed("notification", json.dumps(text).encode())
        elif draw < 0.8:
            line = _owed(*_broken(rng))
        else:
            line = _owed("mutated", _mutated(rng))
        if b"\n" not in line.text and line.text.strip():
            count -= 1
            yield line


class Tally:
    """Holds answers against what was owed."""

    def __init__(self) -> None:
        self._owed: dict[Any, int] = {}
        self._unsure = 0
        self._candidates = b""
        self.given: dict[Any, int] = {}
        self.bad: list[str] = []

    def sent(self, line: Line) -> None:
        """Note a line that went in."""
        if line.sure:
            self._owed[_key(line.id)] = self._owed.get(_key(line.id), 0) + 1
        else:
            self._unsure += line.answers

    @property
    def expected(self) -> int:
        """How many answers are owed in all."""
        return sum(self._owed.values()) + self._unsure

    def answered(self, line: bytes) -> None:
        """Note a line that came out."""
        answer = json.loads(line)
        if answer.get("jsonrpc") != "2.0" or "id" not in answer or ("result" in answer) == ("error" in answer):
            self.bad.append(line.decode(errors="replace")[:200])
        key = _key(answer.get("id"))
        self.given[key] = self.given.get(key, 0) + 1

    def trailing(self, answer: dict[str, Any]) -> None:
        """Note what came after the last answer that was owed: the answer to a ping, or one too many."""
        if "result" not in answer:
            self.bad.append(f"one answer too many: {answer}"[:200])

    def faults(self) -> list[str]:
        """Every way in which the answers are not what was owed."""
        found = list(self.bad)
        found += [
            f"{key} owed {n}, given {self.given.get(key, 0)}"
            for key, n in self._owed.items()
            if self.given.get(key, 0) != n
        ]
        others = sum(n for key, n in self.given.items() if key not in self._owed)
        if others != self._unsure:
            found.append(f"{self._unsure} owed without a sure id, {others} given")
        return found


def _key(value: Any) -> tuple[str, Any]:
    return type(value).__name__, value
