"""Asking a server how it is: /health, identity, /slots, /metrics and one token; short waits, nothing raised."""

import json
import re
from typing import Any, Final

import anyio
import msgspec
from msgspec import Struct

from .command import Launch

ANSWER_MAX_S: Final = 2.0
BODY_MAX_BYTES: Final = 4 << 20
OK: Final = 200
ABSENT: Final = frozenset({404, 405, 501})
REFUSED: Final = 0
METRIC = re.compile(r"^llamacpp:(\w+)\s+([0-9.eE+]+)\s*$", re.MULTILINE)


class Answer(Struct, frozen=True):
    """`status`: HTTP status, 0 when the connection was refused, None when no answer came in time."""

    status: int | None
    body: bytes = b""

    def json(self) -> Any:
        try:
            return msgspec.json.decode(self.body)
        except (msgspec.DecodeError, RecursionError):
            return None


class Work(Struct, frozen=True, kw_only=True):
    """What the server says it does: None where it did not say; `blind` when it has no such endpoint."""

    busy: bool | None = None
    counter: int | None = None
    decoded: int | None = None
    blind: bool = False


async def request(launch: Launch, path: str, *, body: Any = None, wait_s: float = ANSWER_MAX_S) -> Answer:
    """One HTTP exchange on a connection of its own."""
    with anyio.move_on_after(wait_s):
        try:
            return await _exchange(launch, path, body)
        except (OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return Answer(REFUSED)
    return Answer(None)


async def _exchange(launch: Launch, path: str, body: Any) -> Answer:
    content = b"" if body is None else json.dumps(body).encode()
    head = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.0", f"Host: 127.0.0.1:{launch.port}"]
    head += [f"Authorization: Bearer {launch.key}"] if launch.key else []
    head += [f"Content-Type: application/json\r\nContent-Length: {len(content)}"] if content else []
    async with await anyio.connect_tcp("127.0.0.1", launch.port) as stream:
        await stream.send("\r\n".join([*head, "Connection: close", "", ""]).encode() + content)
        return _parsed(await _read_all(stream))


async def _read_all(stream: anyio.abc.ByteReceiveStream) -> bytes:
    data = b""
    while len(data) < BODY_MAX_BYTES:
        try:
            data += await stream.receive()
        except anyio.EndOfStream:
            break
        head, gap, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length:\s*(\d+)", head) if gap else None
        if length and len(body) >= int(length[1]):
            break
    return data


def _parsed(data: bytes) -> Answer:
    head, _, body = data.partition(b"\r\n\r\n")
    words = head.split(b"\r\n", 1)[0].split()
    if len(words) < 2 or not words[1].isdigit():  # noqa: PLR2004 - version and status
        return Answer(REFUSED)
    return Answer(int(words[1]), body)


async def health(launch: Launch) -> int | None:
    """Status of /health; 0 refused, None silent."""
    return (await request(launch, "/health")).status


async def ours(launch: Launch) -> bool | None:
    """Whether the server that answers is the one we started: it takes our key and knows our alias.

    None when it does not say.
    """
    answer = await request(launch, "/props")
    if answer.status in {401, 403}:
        return False
    props = answer.json() if answer.status == OK else None
    if isinstance(props, dict) and isinstance(props.get("model_alias"), str):
        return props["model_alias"] == launch.alias
    models = (await request(launch, "/v1/models")).json()
    entries = models.get("data", []) if isinstance(models, dict) else []
    names = {entry.get("id") for entry in entries if isinstance(entry, dict)}
    return launch.alias in names if names else None


async def work(launch: Launch) -> Work:
    """What the server does now, from /slots, else from /metrics."""
    slots = await request(launch, "/slots")
    if slots.status == OK and isinstance(found := slots.json(), list):
        return _from_slots([slot for slot in found if isinstance(slot, dict)])
    if slots.status not in ABSENT:
        return Work()
    metrics = await request(launch, "/metrics")
    if metrics.status == OK:
        values = {name: float(value) for name, value in METRIC.findall(metrics.body.decode("utf-8", "replace"))}
        counter = int(values.get("n_decode_total", 0) * 1000 + values.get("prompt_tokens_total", 0))
        return Work(busy=values.get("requests_processing", 0) > 0, counter=counter)
    return Work(blind=metrics.status in ABSENT)


def _from_slots(slots: list[dict[str, Any]]) -> Work:
    busy = any(bool(slot.get("is_processing")) for slot in slots)
    decoded = sum(_decoded(slot) for slot in slots if slot.get("is_processing"))
    tasks = sum(_whole(slot.get("id_task")) * 1_000_003 for slot in slots)
    prompt = sum(_whole(slot.get("n_prompt_tokens_processed")) for slot in slots)
    return Work(busy=busy, counter=tasks + prompt + decoded, decoded=decoded)


def _decoded(slot: dict[str, Any]) -> int:
    token = slot.get("next_token")
    tokens = token if isinstance(token, list) else [token]
    return sum(_whole(entry.get("n_decoded")) for entry in tokens if isinstance(entry, dict))


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0


async def one_token(launch: Launch, wait_s: float) -> bool:
    """Whether it can still decode: a completion of one token."""
    body = {"prompt": "a", "n_predict": 1, "cache_prompt": False}
    return (await request(launch, "/completion", body=body, wait_s=wait_s)).status == OK
