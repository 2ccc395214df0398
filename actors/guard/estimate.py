"""How much memory a model needs under given flags: weights, KV by layer, compute and host extras.

The KV formula is llama.cpp's own (exact on Gemma 3 270M at 2048, 8192 and 32768); the compute formula was
solved from the buffer sizes that llama.cpp reported for two models and held within 0.1 MiB on five more settings.
All functions are pure; sizes in bytes.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from .gguf import Counted, Header
from .profiles import Profile

MIB: Final = 1 << 20
PROCESS_BYTES: Final = 100 * MIB
"""What a server holds beside its buffers: observed peak minus buffers was 74 to 97 MiB."""
CACHE_TYPES: Final[Mapping[str, float]] = {
    "f32": 4, "f16": 2, "bf16": 2, "q8_0": 34 / 32, "q5_1": 24 / 32, "q5_0": 22 / 32,
    "q4_1": 20 / 32, "q4_0": 18 / 32, "iq4_nl": 18 / 32,
}  # fmt: skip
"""Bytes an element of each cache type."""
REPACKED: Final = frozenset({2, 12, 20})
"""ggml types (Q4_0, Q4_K, IQ4_NL) that the CPU backend keeps a second, rearranged copy of."""
SWA_PERIOD: Final[Mapping[str, int]] = {
    "gemma2": 2,
    "gemma3": 6,
    "gemma3n": 5,
    "cohere2": 4,
    "exaone4": 4,
    "gpt-oss": 2,
}
"""Where the file does not say which layers slide: every n-th is full (defaults of llama.cpp)."""


class UnknownShape(ValueError):  # noqa: N818
    """Raised when a header lacks what the formulas need; the message names it."""


class Shape(Struct, frozen=True, kw_only=True):
    """A model's dimensions as far as memory depends on them; per-layer values as tuples."""

    arch: str
    layers: int
    embedding: int
    feed_forward: int
    vocabulary: int
    trained_ctx: int
    window: int
    sliding: tuple[bool, ...]
    kv_heads: tuple[int, ...]
    key_length: tuple[int, ...]
    value_length: tuple[int, ...]
    own_cache: int
    """Layers below this one own a cache; the rest share an earlier one's."""


class Part(Struct, frozen=True):
    """One part of the need."""

    name: str
    bytes: int
    source: str


def shape_of(header: Header) -> Shape:
    """The shape of a model from its header.

    Raises:
        UnknownShape: no such key, or a recurrent architecture that these formulas do not cover.
    """
    data = header.metadata
    arch = data.get("general.architecture")
    if not isinstance(arch, str):
        raise UnknownShape("The file does not name its architecture.")
    if any(key.startswith(f"{arch}.ssm.") for key in data):
        raise UnknownShape(f"{arch} keeps a recurrent state that the formulas do not cover.")
    layers, embedding = _number(data, f"{arch}.block_count"), _number(data, f"{arch}.embedding_length")
    heads = _spread(data.get(f"{arch}.attention.head_count"), layers, f"{arch}.attention.head_count")
    kv_heads = _spread(data.get(f"{arch}.attention.head_count_kv", heads), layers, "head_count_kv")
    head = embedding // max(heads)
    window = int(data.get(f"{arch}.attention.sliding_window", 0))
    sliding = _sliding(data, arch, layers) if window else (False,) * layers
    return Shape(
        arch=arch,
        layers=layers,
        embedding=embedding,
        feed_forward=_feed_forward(data, arch, layers),
        vocabulary=_vocabulary(data, header),
        trained_ctx=int(data.get(f"{arch}.context_length", 0)),
        window=window,
        sliding=sliding,
        kv_heads=kv_heads,
        key_length=_lengths(data, f"{arch}.attention.key_length", head, sliding),
        value_length=_lengths(data, f"{arch}.attention.value_length", head, sliding),
        own_cache=layers - int(data.get(f"{arch}.attention.shared_kv_layers", 0)),
    )


def _number(data: Mapping[str, Any], key: str) -> int:
    value = data.get(key)
    if not isinstance(value, int) or value <= 0:
        raise UnknownShape(f"The header lacks {key}.")
    return value


def _spread(value: Any, layers: int, key: str) -> tuple[int, ...]:
    if isinstance(value, int):
        return (value,) * layers
    if isinstance(value, list | tuple) and len(value) >= layers:
        return tuple(int(entry) for entry in value[:layers])
    raise UnknownShape(f"The header lacks a usable {key}.")


def _sliding(data: Mapping[str, Any], arch: str, layers: int) -> tuple[bool, ...]:
    pattern = data.get(f"{arch}.attention.sliding_window_pattern", SWA_PERIOD.get(arch))
    if isinstance(pattern, list):
        return tuple(bool(entry) for entry in pattern[:layers])
    if isinstance(pattern, int) and pattern > 0:
        return tuple(layer % pattern < pattern - 1 for layer in range(layers))
    return (False,) * layers  # nobody says which layers slide: count them all as full


def _lengths(data: Mapping[str, Any], key: str, head: int, sliding: tuple[bool, ...]) -> tuple[int, ...]:
    full = int(data.get(key, head))
    narrow = int(data.get(f"{key}_swa", full))
    return tuple(narrow if slides else full for slides in sliding)


def _feed_forward(data: Mapping[str, Any], arch: str, layers: int) -> int:
    experts = int(data.get(f"{arch}.expert_feed_forward_length", 0)) * int(data.get(f"{arch}.expert_used_count", 0))
    dense = data.get(f"{arch}.feed_forward_length", 0 if experts else None)
    return max(experts, *_spread(dense, layers, f"{arch}.feed_forward_length"))


def _vocabulary(data: Mapping[str, Any], header: Header) -> int:
    tokens = data.get("tokenizer.ggml.tokens")
    if isinstance(tokens, Counted):
        return tokens.length
    if isinstance(tokens, list):
        return len(tokens)
    return max((t.shape[-1] for t in header.tensors if t.name == "token_embd.weight"), default=0)


def swa_cells(shape: Shape, profile: Profile) -> int:
    """Cells of a sliding layer's cache: the window and one micro-batch, padded to 256."""
    per_sequence = profile.ctx // profile.parallel
    if profile.swa_full:
        return per_sequence
    return min(per_sequence, -(-(shape.window + profile.ubatch) // 256) * 256)


def kv_bytes(shape: Shape, profile: Profile) -> int:
    """Bytes of the KV cache as llama.cpp allocates it for these flags."""
    key, value = CACHE_TYPES[profile.cache_type_k], CACHE_TYPES[profile.cache_type_v]
    full, narrow = profile.ctx // profile.parallel, swa_cells(shape, profile)
    total = 0.0
    for layer in range(shape.own_cache):
        cells = narrow if shape.sliding[layer] else full
        element = shape.key_length[layer] * key + shape.value_length[layer] * value
        total += cells * shape.kv_heads[layer] * element
    return round(total * profile.parallel)


def compute_bytes(shape: Shape, profile: Profile) -> int:
    """Bytes of the scratch buffer: activations of one micro-batch and the attention masks."""
    activations = 4 * (3 * shape.feed_forward + 5 * shape.embedding)
    masks = 2 * (profile.ctx + (swa_cells(shape, profile) if any(shape.sliding) else 0))
    return profile.ubatch * (activations + masks)


def checkpoint_bytes(shape: Shape, profile: Profile) -> int:
    """Host bytes that context checkpoints may grow to: one sliding-window state each."""
    if not any(shape.sliding) or not profile.ctx_checkpoints:
        return 0
    windows = sum(
        shape.kv_heads[layer] * (shape.key_length[layer] + shape.value_length[layer]) * 2
        for layer in range(shape.own_cache)
        if shape.sliding[layer]
    )
    return profile.ctx_checkpoints * min(shape.window, profile.ctx) * windows * profile.parallel


def need(header: Header, profile: Profile, *, mmproj_bytes: int = 0) -> tuple[Part, ...]:
    """Every part of what a server with this model and these flags will hold, each with its source.

    Raises:
        UnknownShape: the formulas do not cover this file.
    """
    shape = shape_of(header)
    parts = [
        Part("weights", header.tensor_bytes, "tensor sizes in the GGUF header"),
        Part("KV cache", kv_bytes(shape, profile), "formula by layer"),
        Part("compute", compute_bytes(shape, profile), "formula"),
        Part("output", profile.parallel * shape.vocabulary * 4, "vocabulary"),
        Part("copies of weights", copied_bytes(header, profile), "tensor types"),
        Part("prompt cache", profile.cache_ram_mib * MIB, "--cache-ram"),
        Part("checkpoints", checkpoint_bytes(shape, profile), "--ctx-checkpoints"),
        Part("vision", mmproj_bytes, "size of the mmproj file"),
        Part("process", PROCESS_BYTES, "measured"),
    ]
    return tuple(part for part in parts if part.bytes)


def copied_bytes(header: Header, profile: Profile) -> int:
    """Bytes held twice: repacked tensors on the CPU, a tied embedding on a GPU."""
    if profile.on_gpu:
        tied = all(tensor.name != "output.weight" for tensor in header.tensors)
        return sum(tensor.bytes for tensor in header.tensors if tied and tensor.name == "token_embd.weight")
    matrices = (t for t in header.tensors if len(t.shape) == 2 and t.name != "token_embd.weight")  # noqa: PLR2004
    return sum(tensor.bytes for tensor in matrices if tensor.type in REPACKED)
