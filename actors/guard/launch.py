"""Between fork and exec: ties a server to its guard's life and makes it the kernel's first choice when memory ends.

`python -I -S launch.py GUARD_PID OOM_SCORE_ADJ COMMAND…`. A program of its own, since code between fork and exec
is unsafe in a process that has threads. The death signal follows the *thread* that forked, so the guard must
spawn from its loop thread. TERM and not KILL: a KILL while the GPU driver works can wedge the GPU until reboot;
what ignores TERM is ended by the next guard.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1


def main() -> int:
    """Become the command; 127 with a sentence when that is impossible."""
    guard, score, *command = sys.argv[1:]
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != int(guard):
        return 1  # the guard died before the signal was set
    try:
        Path("/proc/self/oom_score_adj").write_text(score, encoding="ascii")
    except OSError as error:
        sys.stderr.write(f"guard: oom_score_adj stays as it is: {error}\n")
    try:
        os.execvpe(command[0], command, os.environ)  # noqa: S606 - becoming the server is the purpose
    except OSError as error:
        sys.stderr.write(f"guard: cannot execute {command[0]}: {error}\n")
    return 127


if __name__ == "__main__":
    sys.exit(main())
