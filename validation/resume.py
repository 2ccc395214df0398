"""Whether a result still stands: measured at a commit since which no code that it depends on was changed."""

import json
import subprocess
from pathlib import Path
from typing import Any, Final

from validation import result
from validation.result import ROOT, seal_of

CODE: Final = ("protocol", "evidence", "actors", "daemon", "launcher", "validation", "requirements.lock")
APART: Final = tuple(f":(exclude)validation/{name}" for name in ("results", "transcripts", "report", "claims.toml"))


def unchanged_since(commit: str, root: Path = ROOT) -> bool:
    """Whether the code in the tree is that of a commit, uncommitted changes included; False for an unknown commit."""
    if not commit or commit.endswith("+"):
        return False
    command = ["git", "diff", "--quiet", commit, "--", *CODE, *APART]
    return subprocess.run(command, cwd=root, capture_output=True, check=False).returncode == 0


def standing(name: str, *, quick: bool, root: Path = ROOT) -> dict[str, Any] | None:
    """The result of a run that need not be repeated, the full one first; None when it must be run."""
    files = [f"{name}.json", *([f"{name}.quick.json"] if quick else [])]
    for path in (result.RESULTS / file for file in files):
        if path.exists():
            body = json.loads(path.read_text(encoding="utf-8"))
            if seal_of(body) == "sealed" and unchanged_since(body["commit"], root):
                return body
    return None
