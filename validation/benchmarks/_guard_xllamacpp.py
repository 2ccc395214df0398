"""A `llama-server` made of the xllamacpp wheel: llama.cpp's own C++ server under the flags that the guard writes.

Runs alone in an environment that has `xllamacpp`; nothing of ours is imported. Only flags of `FLAGS` exist,
as `--help` says, so that the guard's detection of flags is put to work too.
"""

import argparse
import importlib
import os
import signal
import sys
import threading
import types
from pathlib import Path

CACHE_TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "iq4_nl": 20, "bf16": 30}


def parser() -> argparse.ArgumentParser:
    """The flags, each named as llama-server names it."""
    flags = argparse.ArgumentParser(prog="llama-server", allow_abbrev=False)
    flags.add_argument("-m", "--model", required=True)
    flags.add_argument("--alias", default="")
    flags.add_argument("--host", default="127.0.0.1")
    flags.add_argument("--port", type=int, default=8080)
    flags.add_argument("-c", "--ctx-size", type=int, default=0)
    flags.add_argument("-ngl", "--n-gpu-layers", default="0")
    flags.add_argument("-b", "--batch-size", type=int, default=2048)
    flags.add_argument("-ub", "--ubatch-size", type=int, default=512)
    flags.add_argument("-ctk", "--cache-type-k", default="f16", choices=CACHE_TYPES)
    flags.add_argument("-ctv", "--cache-type-v", default="f16", choices=CACHE_TYPES)
    flags.add_argument("-np", "--parallel", type=int, default=1)
    flags.add_argument("-t", "--threads", type=int, default=1)
    flags.add_argument("--cache-ram", type=int, default=8192)
    flags.add_argument("--ctx-checkpoints", type=int, default=32)
    flags.add_argument("--swa-full", action="store_true")
    flags.add_argument("--fit", choices=("on", "off"), default="on")
    flags.add_argument("--metrics", action="store_true")
    flags.add_argument("--no-ui", action="store_true")
    flags.add_argument("--offline", action="store_true")
    flags.add_argument("--jinja", action="store_true")
    flags.add_argument("--no-cache-idle-slots", action="store_true")
    flags.add_argument("--chat-template-file", default="")
    flags.add_argument("-lv", "--verbosity", type=int, default=3)
    return flags


def params(options: argparse.Namespace, x: types.ModuleType) -> object:
    """The wheel's parameters for these flags."""
    p = x.CommonParams()
    p.model.path, p.port, p.hostnames = options.model, options.port, [options.host]
    p.n_ctx, p.n_batch, p.n_ubatch, p.n_parallel = (
        options.ctx_size,
        options.batch_size,
        options.ubatch_size,
        options.parallel,
    )
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = options.threads
    p.cache_type_k = x.ggml_type(CACHE_TYPES[options.cache_type_k])
    p.cache_type_v = x.ggml_type(CACHE_TYPES[options.cache_type_v])
    p.cache_ram_mib, p.n_ctx_checkpoints, p.swa_full = options.cache_ram, options.ctx_checkpoints, options.swa_full
    p.fit_params, p.endpoint_metrics, p.ui, p.offline = options.fit == "on", options.metrics, False, options.offline
    p.cache_idle_slots, p.use_jinja, p.verbosity = not options.no_cache_idle_slots, True, options.verbosity
    p.model_alias = {options.alias} if options.alias else set()
    p.api_keys = [os.environ["LLAMA_API_KEY"]] if os.environ.get("LLAMA_API_KEY") else []
    if options.chat_template_file:
        p.chat_template = Path(options.chat_template_file).read_text(encoding="utf-8")
    return p


def main() -> int:
    """Serve until TERM or INT; exit 1 when the model cannot be loaded, as llama-server does."""
    options = parser().parse_args()
    xllamacpp = importlib.import_module("xllamacpp")  # of an environment of its own; `--help` need not load it

    ended = threading.Event()
    try:
        server = xllamacpp.Server(params(options, xllamacpp))
    except RuntimeError as error:
        print(f"error: exiting due to model loading error: {error}", file=sys.stderr, flush=True)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    signal.signal(signal.SIGINT, lambda *_: ended.set())
    print(f"listening on {server.listening_address}", file=sys.stderr, flush=True)
    ended.wait()
    del server
    os._exit(0)  # the wheel's threads may not be joined at interpreter shutdown


if __name__ == "__main__":
    sys.exit(main())
