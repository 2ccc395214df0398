"""`chrysalis llm` against a real daemon and the little misbehaving server."""

import json

import pytest

from launcher.cli import main
from validation.benchmarks._guard_rig import Rig
from validation.stack import Stack


@pytest.fixture
def daemon(tmp_path, monkeypatch):
    rig = Rig(tmp_path)
    with Stack({"CHRYSALIS_LLAMA_SERVER": str(rig.binary)}) as stack:
        for name in ("CHRYSALIS_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            monkeypatch.setenv(name, stack.environment[name])
        yield rig


def test_a_model_is_planned_started_looked_at_and_stopped_from_the_terminal(daemon, capsys):
    model = daemon.profile.model
    assert main(["llm", "status"]) == 0
    assert "not_configured" in capsys.readouterr().out
    assert main(["llm", "plan", "--model", model, "--ctx", "1024"]) == 0
    assert "KV cache" in capsys.readouterr().out
    assert main(["llm", "start", "--model", "/none.gguf"]) == 1
    assert "/none.gguf is not there" in capsys.readouterr().err
    assert main(["llm", "start", "--model", model]) == 0
    assert "ready" in capsys.readouterr().out
    assert main(["llm", "status", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)["data"]
    assert status["url"].startswith("http://127.0.0.1:")
    assert main(["llm", "logs", "-n", "5"]) == 0
    assert "[guard] ready" in capsys.readouterr().out
    assert main(["llm", "restart", "--ctx", "512"]) == 0
    assert main(["llm", "stop", "--now"]) == 0
    assert "stopped" in capsys.readouterr().out


def test_without_a_daemon_the_exit_code_is_three(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CHRYSALIS_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    assert main(["llm", "status"]) == 3
    assert "chrysalis daemon" in capsys.readouterr().err
