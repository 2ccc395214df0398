"""The embedders: the packaged ones, one in a file, one behind an endpoint; each the same every time."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

from actors.memory.embed import choose
from actors.memory.embed.base import EmbedderError

HASHED = [17, 32, 37, 38, 52, 63]


@pytest.fixture(scope="module")
def pair():
    return choose.load("")


def test_the_default_finds_an_english_fact_from_german_and_a_german_one_from_english(pair):
    rows = pair.embed(["the lighthouse was built by Henrik", "der Hund hat Angst vor Donner", "tea is green"], "fact")
    german, english = "Wer hat den Leuchtturm gebaut?", "what is the dog afraid of?"
    asked = pair.as_query(pair.embed([german], "node")[0], german)
    assert int(np.argmax(rows @ asked)) == 0
    assert pair.as_foreign(pair.embed([german], "node")[0], german) is None
    beside = pair.as_foreign(pair.embed([english], "node")[0], english)
    assert int(np.argmax(rows @ beside)) == 1


def test_vectors_have_length_one_and_do_not_depend_on_their_batch(pair):
    texts = ["a", "a much longer text about lighthouses and the sea", "b"]
    together = pair.embed(texts, "fact")
    assert np.linalg.norm(together, axis=1) == pytest.approx(1.0, abs=1e-3)
    alone = np.vstack([pair.embed([text], "fact") for text in texts])
    assert (together * alone).sum(axis=1) == pytest.approx(1.0, abs=0.02)


def test_hashing_is_the_same_on_every_machine():
    vector = choose.load("hash:64").embed(["Ada"], "node")[0]
    assert np.flatnonzero(vector).tolist() == HASHED


def test_a_text_without_a_word_has_no_vector():
    assert not choose.load("hash:64").embed(["!!!"], "node").any()


@pytest.mark.parametrize("choice", ["nonsense", "hash:7", "hash:abc", "static:/nowhere.npz", "openai:ftp://x"])
def test_a_wrong_choice_says_what_is_wrong(choice):
    with pytest.raises(EmbedderError):
        choose.load(choice)


def test_a_file_of_words_is_a_model(tmp_path):
    np.savez(tmp_path / "m.npz", tokens=np.array(["cat", "dog"]), vectors=np.eye(2, 8))
    model = choose.load(f"static:{tmp_path / 'm.npz'}")
    rows = model.embed(["the Cat", "unknown words"], "node")
    assert rows[0].tolist() == [1.0] + [0.0] * 7
    assert not rows[1].any()


def test_an_endpoint_is_a_model_and_a_broken_answer_is_told():
    class Serving(BaseHTTPRequestHandler):
        broken = False

        def do_POST(self):
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            rows = [{"index": i, "embedding": [float(len(text)), 1.0]} for i, text in enumerate(texts)]
            body = b"{}" if Serving.broken else json.dumps({"data": rows[::-1]}).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Serving)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        model = choose.load(f"openai:http://127.0.0.1:{server.server_port}/v1#tiny")
        rows = model.embed(["a", "four"], "node")
        assert rows[1, 0] > rows[0, 0]
        assert (model.dimension, model.fingerprint) == (2, "openai-tiny-2")
        Serving.broken = True
        with pytest.raises(EmbedderError, match="no vectors"):
            model.embed(["a"], "node")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
