"""What a worker can no longer do once it is confined, tried for real in a process of its own."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from actors.solver import landlock, seccomp

ROOT = Path(__file__).resolve().parents[3]
ATTEMPT = """
import os, socket, sys, threading, z3, subprocess, ctypes
from actors.solver import sandbox
z3.Solver().check()
sandbox.limit(60)
granted = sandbox.confine()
done = []
def attempt(name, function):
    try:
        function()
        done.append(name)
    except (OSError, PermissionError, MemoryError):
        pass
attempt("read", lambda: open("/etc/passwd").read())
attempt("write", lambda: open(sys.argv[1], "w"))
attempt("unlink", lambda: os.unlink(sys.argv[2]))
attempt("socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
attempt("unix", lambda: socket.socketpair())
attempt("fork", lambda: os._exit(0) if os.fork() == 0 else None)
attempt("exec", lambda: os.execv("/bin/true", ["true"]))
attempt("kill", lambda: os.kill(os.getppid(), 0))
attempt("memory", lambda: bytearray(2 << 30))
attempt("mkdir", lambda: os.mkdir(sys.argv[1]))
thread = threading.Thread(target=done.append, args=("a thread runs",))
thread.start(); thread.join()
solver = z3.Solver(); solver.set("timeout", 2000); solver.add(z3.Int("x") > 3)
done.append(str(solver.check()))
os.write(1, f"{granted}|{','.join(done)}".encode())
os._exit(0)
"""


@pytest.mark.skipif(
    "landlock.abi() < 1 or platform.machine() not in seccomp._ARCHITECTURE", reason="this kernel confines less"
)
def test_a_confined_worker_reads_writes_connects_forks_and_kills_nothing_but_solves(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("here")
    run = subprocess.run(
        [sys.executable, "-B", "-c", ATTEMPT, str(tmp_path / "new"), str(victim)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.stdout == "landlock+seccomp|a thread runs,sat", run.stderr
    assert victim.read_text() == "here"
    assert not (tmp_path / "new").exists()


def test_the_filter_is_built_for_both_architectures():
    for machine in ("x86_64", "aarch64"):
        code = seccomp.build(machine)
        assert len(code) % 8 == 0
        assert len(code) // 8 < 256  # jumps of classic BPF are one byte


def test_the_kernel_is_asked_once_what_it_can():
    assert landlock.abi() >= 0
    assert platform.machine()
