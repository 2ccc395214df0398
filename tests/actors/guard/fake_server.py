"""A little llama-server that misbehaves as the FAKE environment variable says (JSON object); standard library only.

load_s          503 for so long                     never_bind      burns CPU, never listens
say, exit       prints a line, exits with the code  exit_after_s    does that so long after start
signal          dies of this signal instead         abort_on        SIGABRT at the n-th completion
token_s         seconds a token                     prefill_s       CPU burned before the first token
serve           tokens of a request that is under way from the start, by itself
stall_after     tokens after which decoding stops   stall           sleep | spin, what it does then
slots           ok | silent | absent                metrics         ok | absent
health          ok | silent                         no_body_after   completions after which: headers, then nothing
ignore_term     TERM does nothing                   term_s          seconds between TERM and exit
alias           another name than the one given     allocate_mb     kept at each completion
fork_away       the process started leaves a child in another session and ends
helper          leaves a child in another session that sleeps and ignores TERM
burn            decoding uses the processor
slow_file       tokens take ten times as long while this file exists
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HOW = json.loads(os.environ.get("FAKE", "{}"))
FLAGS = """--model --alias --host --port --ctx-size --batch-size --ubatch-size --parallel --n-gpu-layers --threads
--cache-type-k --cache-type-v --cache-ram --ctx-checkpoints --no-cache-idle-slots --fit --metrics --no-ui --jinja"""


class State:
    """What the server is doing."""

    def __init__(self):
        self.ready_at = time.monotonic() + HOW.get("load_s", 0)
        self.turn = threading.Lock()
        self.busy = False
        self.task = 0
        self.decoded = 0
        self.prompt = 0
        self.completions = 0
        self.kept = []
        self.said_ready = False

    def complete(self, tokens):
        """Decode one after the other, as one slot does."""
        with self.turn:
            self.task += 1
            self.completions += 1
            self.busy, self.decoded, self.prompt = True, 0, 0
            if self.completions == HOW.get("abort_on"):
                print("vk::DeviceLostError: ErrorDeviceLost", flush=True)
                os.abort()
            self.kept.append(b"x" * (HOW.get("allocate_mb", 0) << 20))
            burn(HOW.get("prefill_s", 0))
            self.prompt = 7
            for _ in range(tokens):
                if self.decoded == HOW.get("stall_after", -1):
                    print("stalled", flush=True)
                    while True:
                        burn(0.05) if HOW.get("stall") == "spin" else time.sleep(0.05)
                wait = burn if HOW.get("burn") else time.sleep
                wait(HOW.get("token_s", 0) * (10 if Path(HOW.get("slow_file", "/nonexistent")).exists() else 1))
                self.decoded += 1
            self.busy = False


def burn(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))


def option(name, default=""):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"
    state = None

    def log_message(self, *_args):
        pass

    def answer(self, status, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def admitted(self):
        if time.monotonic() < self.state.ready_at:
            self.answer(503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}})
            return False
        key = os.environ.get("LLAMA_API_KEY")
        if self.path != "/health" and key and self.headers.get("Authorization") != f"Bearer {key}":
            self.answer(401, {"error": {"message": "Invalid API Key", "code": 401}})
            return False
        return True

    def do_GET(self):
        state, alias = self.state, HOW.get("alias") or option("--alias", "fake")
        if HOW.get("health") == "silent" and self.path == "/health" and state.said_ready:
            time.sleep(3600)
        if not self.admitted():
            return
        if self.path == "/health":
            state.said_ready = True
            self.answer(200, {"status": "ok"})
        elif self.path == "/props":
            self.answer(200, {"model_alias": alias})
        elif self.path == "/slots" and HOW.get("slots", "ok") == "silent":
            time.sleep(3600)
        elif self.path == "/slots" and HOW.get("slots", "ok") == "ok":
            token = [{"n_decoded": state.decoded}]
            slot = {"id": 0, "id_task": state.task, "is_processing": state.busy, "next_token": token}
            self.answer(200, [slot | {"n_prompt_tokens_processed": state.prompt}])
        elif self.path == "/metrics" and HOW.get("metrics", "ok") == "ok":
            lines = f"llamacpp:n_decode_total {state.task * 1000 + state.decoded}\n"
            self.answer(200, f"{lines}llamacpp:requests_processing {int(state.busy)}\n".encode())
        else:
            self.answer(501, {"error": {"code": 501}})

    def do_POST(self):
        if not self.admitted():
            return
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if self.state.completions >= HOW.get("no_body_after", 1 << 30):
            self.send_response(200)
            self.end_headers()
            self.wfile.flush()
            time.sleep(3600)
        self.state.complete(int(body.get("n_predict", body.get("max_tokens", 8))))
        self.answer(200, {"content": "a"})


def leave_child(ignore_term):
    code = "import signal,time;" + ("signal.signal(15, signal.SIG_IGN);" if ignore_term else "") + "time.sleep(600)"
    subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stdout=subprocess.DEVNULL)


def end_later(seconds):
    time.sleep(seconds)
    print(HOW.get("say", ""), flush=True)
    if "signal" in HOW:
        os.kill(os.getpid(), HOW["signal"])
        time.sleep(5)
    os._exit(HOW.get("exit", 0))


def on_term(*_args):
    time.sleep(HOW.get("term_s", 0))
    os._exit(0)


def main():
    if "--help" in sys.argv:
        print(FLAGS)
        return
    signal.signal(signal.SIGTERM, signal.SIG_IGN if HOW.get("ignore_term") else on_term)
    if HOW.get("fork_away") and os.fork():
        time.sleep(0.3)
        os._exit(0)
    if HOW.get("fork_away"):
        os.setsid()
    if HOW.get("helper"):
        leave_child(ignore_term=True)
    if ("exit" in HOW or "signal" in HOW) and "exit_after_s" not in HOW:
        end_later(0)
    if "exit_after_s" in HOW:
        threading.Thread(target=end_later, args=(HOW["exit_after_s"],), daemon=True).start()
    while HOW.get("never_bind"):
        burn(0.05)
    state = Handler.state = State()
    server = ThreadingHTTPServer(("127.0.0.1", int(option("--port", "0"))), Handler)
    server.daemon_threads = True
    print("main: server is listening", flush=True)
    if HOW.get("serve"):
        threading.Thread(target=state.complete, args=(HOW["serve"],), daemon=True).start()
    server.serve_forever(poll_interval=0.05)


main()
