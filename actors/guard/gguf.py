"""Reads the header of a GGUF file: what the memory estimate rests on, and nothing of the weights.

Written out because PyPI's `gguf` builds a view of each token of the vocabulary (19.5 CPU-seconds and 720 MB
on a 241 MiB file); here long arrays are stepped over. Layout: the GGUF specification in ggml's docs.
"""

import mmap
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

MAGIC: Final = b"GGUF"
KEYS_MAX: Final = 65_536
TENSORS_MAX: Final = 1_000_000
STRING_MAX_BYTES: Final = 16 << 20
ARRAY_KEPT: Final = 1_024
"""Arrays up to this length are kept; a vocabulary is counted only."""
SHARD = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")

_SCALARS: Final[Mapping[int, str]] = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9

BLOCKS: Final[Mapping[int, tuple[int, int]]] = {
    # ggml type: (elements, bytes) of one block
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 40),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292),
    16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82),
    23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2),
    34: (256, 54), 35: (256, 66), 39: (32, 17), 40: (64, 36), 41: (128, 18),
}  # fmt: skip


class GgufError(ValueError):
    """Raised when a file is no GGUF, is cut short, or holds what this reader does not know."""


class Tensor(Struct, frozen=True):
    """One tensor as the header tells it: shape (fastest dimension first), ggml type, bytes."""

    name: str
    shape: tuple[int, ...]
    type: int
    bytes: int


class Header(Struct, frozen=True, kw_only=True):
    """What a GGUF header says; arrays longer than `ARRAY_KEPT` stand as `Counted`."""

    metadata: dict[str, Any]
    tensors: tuple[Tensor, ...]
    file_bytes: int
    header_bytes: int

    @property
    def tensor_bytes(self) -> int:
        """Bytes of all weights, without padding."""
        return sum(tensor.bytes for tensor in self.tensors)


class Counted(Struct, frozen=True):
    """A long array that was stepped over: its length."""

    length: int


class _Cursor:
    def __init__(self, view: mmap.mmap) -> None:
        self.view, self.at = view, 0

    def take(self, layout: str) -> Any:
        try:
            (value,) = struct.unpack_from("<" + layout, self.view, self.at)
        except struct.error as error:
            raise GgufError("The file ends inside its header; it was not downloaded whole.") from error
        self.at += struct.calcsize("<" + layout)
        return value

    def text(self) -> str:
        length = self.take("Q")
        if length > STRING_MAX_BYTES or self.at + length > len(self.view):
            raise GgufError(f"A string of {length} bytes does not fit into the header.")
        self.at += length
        return self.view[self.at - length : self.at].decode("utf-8", "replace")

    def skip_texts(self, count: int) -> None:
        view, at, size, read = self.view, self.at, len(self.view), struct.Struct("<Q").unpack_from
        try:
            for _ in range(count):
                at += 8 + read(view, at)[0]
        except struct.error as error:
            raise GgufError("The file ends inside its vocabulary; it was not downloaded whole.") from error
        if at > size:
            raise GgufError("The file ends inside its vocabulary; it was not downloaded whole.")
        self.at = at

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            return self._array(self.take("I"), self.take("Q"))
        if kind not in _SCALARS:
            raise GgufError(f"Metadata type {kind} is unknown.")
        return self.take(_SCALARS[kind])

    def _array(self, kind: int, count: int) -> Any:
        if kind == _ARRAY:
            raise GgufError("Arrays of arrays are not GGUF.")
        if count > len(self.view):
            raise GgufError(f"An array of {count} entries does not fit into the file.")
        if count <= ARRAY_KEPT:
            return [self.value(kind) for _ in range(count)]
        if kind == _STRING:
            self.skip_texts(count)
        elif kind in _SCALARS:
            self.at += count * struct.calcsize(_SCALARS[kind])
        else:
            raise GgufError(f"Metadata type {kind} is unknown.")
        return Counted(count)


def _tensor(cursor: _Cursor) -> Tensor:
    name, dimensions = cursor.text(), cursor.take("I")
    if dimensions > 8:  # noqa: PLR2004 - ggml has 4; more is no tensor
        raise GgufError(f"Tensor {name!r} has {dimensions} dimensions.")
    shape = tuple(cursor.take("Q") for _ in range(dimensions))
    kind, _offset = cursor.take("I"), cursor.take("Q")
    if kind not in BLOCKS:
        raise GgufError(f"Tensor {name!r} has the unknown type {kind}; the file is newer than this reader.")
    elements, size = BLOCKS[kind]
    count = 1
    for length in shape:
        count *= length
    return Tensor(name, shape, kind, count // elements * size)


def _parse(view: mmap.mmap) -> tuple[dict[str, Any], tuple[Tensor, ...], int]:
    if view[:4] != MAGIC:
        raise GgufError("The file does not start with GGUF; it is no model in that format.")
    cursor = _Cursor(view)
    cursor.at = 4
    version = cursor.take("I")
    if version not in {2, 3}:
        raise GgufError(f"GGUF version {version} is not known (2 and 3 are).")
    tensors, keys = cursor.take("Q"), cursor.take("Q")
    if tensors > TENSORS_MAX or keys > KEYS_MAX:
        raise GgufError(f"The header claims {tensors} tensors and {keys} keys; it is damaged.")
    metadata: dict[str, Any] = {}
    for _ in range(keys):
        name = cursor.text()
        metadata[name] = cursor.value(cursor.take("I"))
    return metadata, tuple(_tensor(cursor) for _ in range(tensors)), cursor.at


def read_header(path: Path) -> Header:
    """Read one file's header: about 0.03 CPU-seconds and no more memory than the header itself.

    Raises:
        GgufError: not a GGUF, cut short, or of an unknown kind.
        OSError: when it cannot be opened.
    """
    with path.open("rb") as file:
        size = path.stat().st_size
        if size < 24:  # noqa: PLR2004 - magic, version and the two counts
            raise GgufError("The file is too short to be a GGUF.")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            metadata, tensors, end = _parse(view)
    header = Header(metadata=metadata, tensors=tensors, file_bytes=size, header_bytes=end)
    if header.tensor_bytes > size:
        raise GgufError(
            f"The file has {size} bytes but its tensors {header.tensor_bytes}; it was not downloaded whole."
        )
    return header


def shards(path: Path) -> list[Path]:
    """The files of a split model, first to last; the file alone when it is not split."""
    found = SHARD.search(path.name)
    if not found:
        return [path]
    stem, total = path.name[: found.start()], found.group(2)
    return [path.with_name(f"{stem}-{n:05d}-of-{total}.gguf") for n in range(1, int(total) + 1)]


def read_model(path: Path) -> Header:
    """The header of a model, the tensors of all its shards together; raises as `read_header` does."""
    headers = [read_header(part) for part in shards(path)]
    return Header(
        metadata=headers[0].metadata,
        tensors=tuple(tensor for header in headers for tensor in header.tensors),
        file_bytes=sum(header.file_bytes for header in headers),
        header_bytes=sum(header.header_bytes for header in headers),
    )
