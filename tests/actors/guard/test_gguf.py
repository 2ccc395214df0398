"""Reading GGUF headers."""

import random
import struct

import pytest

from actors.guard.gguf import Counted, GgufError, read_header, read_model
from validation.benchmarks._guard_rig import HEAD, write_gguf


def test_metadata_and_tensor_bytes_are_read_and_a_long_vocabulary_is_counted_only(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", HEAD | {"tokenizer.ggml.tokens": ["é" * 9] * 5000, "flag": True}, 8)
    header = read_header(path)
    assert header.metadata["llama.block_count"] == 4
    assert header.metadata["flag"] is True
    assert header.metadata["tokenizer.ggml.tokens"] == Counted(5000)
    assert header.tensor_bytes == 8 << 20
    assert header.tensors[0].shape == (64, (8 << 20) // 4 // 64)


def test_short_arrays_are_kept(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", {"a": [1, 2, 3], "b": [True, False], "c": ["x", "y"]})
    assert read_header(path).metadata == {"a": [1, 2, 3], "b": [True, False], "c": ["x", "y"]}


def test_a_split_model_is_the_sum_of_its_shards(tmp_path):
    for n in (1, 2, 3):
        write_gguf(tmp_path / f"m-0000{n}-of-00003.gguf", weights_mib=n)
    whole = read_model(tmp_path / "m-00001-of-00003.gguf")
    assert whole.tensor_bytes == 6 << 20
    assert whole.metadata["general.architecture"] == "llama"


def test_a_missing_shard_is_a_missing_file(tmp_path):
    write_gguf(tmp_path / "m-00001-of-00002.gguf")
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "m-00001-of-00002.gguf")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "too short"),
        (b"PK\x03\x04" + bytes(60), "does not start with GGUF"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0) + bytes(60), "version 1"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 40, 0) + bytes(60), "damaged"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 60) + bytes(60), "does not fit"),
    ],
)
def test_what_is_no_header_is_refused_in_words(tmp_path, content, said):
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    with pytest.raises(GgufError, match=said):
        read_header(path)


def test_a_file_cut_short_is_told_as_such(tmp_path):
    path = write_gguf(tmp_path / "m.gguf")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(GgufError, match="not downloaded whole"):
        read_header(path)
    path.write_bytes(whole[:200])
    with pytest.raises(GgufError):
        read_header(path)


def test_no_damage_raises_anything_else(tmp_path):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    whole = bytearray(write_gguf(tmp_path / "m.gguf", weights_mib=1).read_bytes()[:3000])
    path = tmp_path / "damaged.gguf"
    for _ in range(400):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            damaged[chance.randrange(24, 900)] = chance.randrange(256)
        path.write_bytes(damaged[: chance.randint(24, len(damaged))])
        try:
            read_header(path)
        except GgufError:
            continue
