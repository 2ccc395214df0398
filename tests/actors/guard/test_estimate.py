"""The memory formulas against what llama.cpp itself reported for real models (buffer lines of its log)."""

import msgspec
import pytest

from actors.guard.estimate import MIB, UnknownShape, compute_bytes, kv_bytes, need, shape_of
from actors.guard.gguf import Counted, Header, Tensor
from actors.guard.profiles import BUILT_IN

GEMMA = {
    "general.architecture": "gemma3",
    "gemma3.block_count": 18,
    "gemma3.embedding_length": 640,
    "gemma3.feed_forward_length": 2048,
    "gemma3.attention.head_count": 4,
    "gemma3.attention.head_count_kv": 1,
    "gemma3.attention.key_length": 256,
    "gemma3.attention.value_length": 256,
    "gemma3.attention.sliding_window": 512,
    "gemma3.context_length": 32768,
    "tokenizer.ggml.tokens": Counted(262_144),
}
QWEN = {
    "general.architecture": "qwen2",
    "qwen2.block_count": 24,
    "qwen2.embedding_length": 896,
    "qwen2.feed_forward_length": 4864,
    "qwen2.attention.head_count": 14,
    "qwen2.attention.head_count_kv": 2,
    "qwen2.context_length": 32768,
    "tokenizer.ggml.tokens": Counted(151_936),
}


def header(metadata, tensors=()):
    return Header(metadata=metadata, tensors=tensors, file_bytes=0, header_bytes=0)


def profile(**changes):
    return msgspec.structs.replace(BUILT_IN["small"], **changes)


@pytest.mark.parametrize(
    ("metadata", "changes", "kv_mib"),
    [
        (GEMMA, {"ctx": 2048}, 21),
        (GEMMA, {"ctx": 8192}, 39),
        (GEMMA, {"ctx": 32768}, 111),
        (GEMMA, {"ctx": 2048, "ubatch": 128}, 17.25),
        (GEMMA, {"ctx": 32768, "parallel": 4}, 156),
        (GEMMA, {"ctx": 32768, "ubatch": 1024}, 118.5),
        (GEMMA, {"ctx": 32768, "swa_full": True}, 576),
        (GEMMA, {"ctx": 32768, "cache_type_k": "q8_0", "cache_type_v": "q8_0"}, 58.97),
        (QWEN, {"ctx": 2048}, 24),
        (QWEN, {"ctx": 8192}, 96),
        (QWEN, {"ctx": 32768}, 384),
    ],
)
def test_the_kv_cache_is_what_llama_cpp_allocates(metadata, changes, kv_mib):
    shape = shape_of(header(metadata))
    assert kv_bytes(shape, profile(**changes)) / MIB == pytest.approx(kv_mib, abs=0.01)


@pytest.mark.parametrize(
    ("metadata", "changes", "compute_mib"),
    [
        (GEMMA, {"ctx": 2048}, 21.28),
        (GEMMA, {"ctx": 8192}, 27.28),
        (GEMMA, {"ctx": 32768}, 51.28),
        (GEMMA, {"ctx": 2048, "ubatch": 128}, 5.26),
        (QWEN, {"ctx": 2048}, 39.27),
        (QWEN, {"ctx": 8192, "ubatch": 256}, 22.63),
        (QWEN, {"ctx": 32768}, 69.27),
    ],
)
def test_the_scratch_buffer_is_what_llama_cpp_reserves(metadata, changes, compute_mib):
    shape = shape_of(header(metadata))
    assert compute_bytes(shape, profile(**changes)) / MIB == pytest.approx(compute_mib, abs=0.1)


def test_layers_that_share_a_cache_and_sliding_ones_of_their_own_width_are_counted_as_such():
    pattern = [True, True, True, True, True, False] * 7
    metadata = {
        "general.architecture": "gemma4",
        "gemma4.block_count": 42,
        "gemma4.embedding_length": 2560,
        "gemma4.feed_forward_length": [10240] * 42,
        "gemma4.attention.head_count": 8,
        "gemma4.attention.head_count_kv": [2] * 42,
        "gemma4.attention.key_length": 512,
        "gemma4.attention.value_length": 512,
        "gemma4.attention.key_length_swa": 256,
        "gemma4.attention.value_length_swa": 256,
        "gemma4.attention.sliding_window": 512,
        "gemma4.attention.sliding_window_pattern": pattern,
        "gemma4.attention.shared_kv_layers": 18,
    }
    shape = shape_of(header(metadata))
    assert shape.own_cache == 24
    full, narrow = 16384 * 2 * (512 + 512) * 2, 768 * 2 * (256 + 256) * 2
    assert kv_bytes(shape, profile(ctx=16384, ubatch=256)) == 4 * full + 20 * narrow


def test_a_window_without_a_known_pattern_is_counted_as_full():
    metadata = QWEN | {"qwen2.attention.sliding_window": 4096}
    assert kv_bytes(shape_of(header(metadata)), profile(ctx=8192)) == 96 * MIB


@pytest.mark.parametrize("gone", ["general.architecture", "qwen2.block_count", "qwen2.attention.head_count"])
def test_a_header_without_what_the_formulas_need_is_unknown_not_guessed(gone):
    with pytest.raises(UnknownShape):
        shape_of(header({key: value for key, value in QWEN.items() if key != gone}))


def test_a_recurrent_model_is_unknown_to_the_formulas():
    with pytest.raises(UnknownShape, match="recurrent"):
        shape_of(header(QWEN | {"qwen2.ssm.state_size": 16}))


def test_repacked_tensors_count_twice_on_the_cpu_and_a_tied_embedding_on_the_gpu():
    tensors = (Tensor("token_embd.weight", (64, 100), 8, 1000), Tensor("blk.0.ffn_up.weight", (64, 64), 12, 500))
    cpu = {part.name: part.bytes for part in need(header(QWEN, tensors), profile())}
    gpu = {part.name: part.bytes for part in need(header(QWEN, tensors), profile(gpu_layers="all"))}
    assert cpu["weights"] == gpu["weights"] == 1500
    assert cpu["copies of weights"] == 500
    assert gpu["copies of weights"] == 1000


def test_host_caches_and_the_vision_file_are_counted():
    parts = need(header(GEMMA), profile(cache_ram_mib=256, ctx_checkpoints=2), mmproj_bytes=7 * MIB)
    found = {part.name: part.bytes / MIB for part in parts}
    assert found["prompt cache"] == 256
    assert found["vision"] == 7
    assert found["checkpoints"] == 2 * 512 * 15 * 1024 / MIB
