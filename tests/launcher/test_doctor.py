"""What the doctor finds and advises."""

import json
from pathlib import Path

import pytest

from launcher import doctor, doctor_checks
from launcher.cli import main
from launcher.doctor_checks import Finding


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("CHRYSALIS_RUNTIME_DIR", str(tmp_path / "run"))
    for name in ("CHRYSALIS_DB", "CHRYSALIS_LLAMA_SERVER", "CHRYSALIS_EMBEDDER"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_every_check_finds_something_and_every_trouble_has_a_remedy(home):
    findings = doctor.examine(doctor_checks.ALL)
    assert len(findings) == len(doctor_checks.ALL)
    assert len({finding.name for finding in findings}) == len(findings)
    assert all(finding.remedy for finding in findings if finding.level != "ok")
    assert {finding.name: finding.level for finding in findings}["sqlite"] == "ok"


def test_the_command_prints_findings_and_settings_as_json_and_exits_by_the_worst(home, capsys, monkeypatch):
    assert main(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"name", "value", "source"} == set(told["settings"][0])
    monkeypatch.setattr(doctor_checks, "ALL", (lambda: Finding("x", "fail", "broken", "mend it"),))
    assert main(["doctor"]) == 1
    assert "mend it" in capsys.readouterr().out


def test_what_a_finding_says_is_printed_sign_by_sign(capsys, monkeypatch):
    """Names in brackets, as tables of the configuration have them, are no markup."""
    said, remedy = "set model under [llm.profiles.e4b] or [/]", "see [bold]"
    monkeypatch.setattr(doctor_checks, "ALL", (lambda: Finding("x", "warn", said, remedy),))
    assert main(["doctor"]) == 0
    told = capsys.readouterr().out
    assert said in told
    assert remedy in told


def test_no_command_takes_what_it_shows_for_markup():
    """Names, facts and paths come from outside; only the demo, which escapes them, marks up its own words."""
    folder = Path(doctor.__file__).parent
    made = [
        f"{path.name}: {line.strip()}"
        for path in folder.glob("*.py")
        if path.name != "demo.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if "Console(" in line and "markup=False" not in line
    ]
    assert made == []


def test_evidence_of_ones_own_that_is_not_there_fails(home, monkeypatch):
    assert doctor_checks.check_evidence().level == "ok"
    monkeypatch.setenv("CHRYSALIS_EVIDENCE", str(home / "mine.json"))
    found = doctor_checks.check_evidence()
    assert (found.level, "evidence.build" in found.remedy) == ("fail", True)
    for damaged in ("", "{", "[]", "{}", '{"rules": 3}'):
        (home / "mine.json").write_text(damaged)
        assert doctor_checks.check_evidence().level == "fail"
    (home / "mine.json").write_text('{"rules": []}')
    assert doctor_checks.check_evidence().text.startswith("0 rules")


def test_a_check_that_breaks_is_a_failed_finding_and_the_others_go_on():
    def check_this():
        raise OSError("gone")

    def check_that():
        raise ImportError("No module named z3")

    found = doctor.examine([check_this, check_that, lambda: Finding("y", "ok", "fine")])
    assert [finding.level for finding in found] == ["fail", "fail", "ok"]
    assert "make setup" in found[1].remedy


def test_an_old_python_fails():
    assert doctor_checks.check_python((3, 10, 1)).level == "fail"


def test_a_missing_embedder_names_what_to_set(home):
    found = doctor_checks.check_embedder(lambda _: False)
    assert (found.level, "CHRYSALIS_EMBEDDER=hash" in found.remedy) == ("warn", True)


def test_the_sandbox_is_told_by_what_the_kernel_offers(tmp_path):
    status = tmp_path / "status"
    status.write_text("Seccomp:\t0\n")
    assert doctor_checks.check_sandbox(lambda: 5, status).level == "ok"
    assert "seccomp and rlimits" in doctor_checks.check_sandbox(lambda: 0, status).text
    assert "rlimits only" in doctor_checks.check_sandbox(lambda: 0, tmp_path / "none").text


def test_a_broken_configuration_file_fails_with_its_path(home):
    (home / "XDG_CONFIG_HOME" / "chrysalis").mkdir(parents=True)
    (home / "XDG_CONFIG_HOME" / "chrysalis" / "config.toml").write_text("[llm")
    assert doctor_checks.check_settings().level == "fail"
    assert main(["doctor"]) == 1


def test_a_runtime_directory_that_others_may_enter_fails(home):
    (home / "run").mkdir(mode=0o777)
    (home / "run").chmod(0o777)
    assert doctor_checks.check_sockets().level == "fail"


def test_a_missing_binary_warns_and_a_wrong_one_fails(home, monkeypatch):
    monkeypatch.setenv("PATH", str(home))
    assert doctor_checks.check_llama_server().level == "warn"
    monkeypatch.setenv("CHRYSALIS_LLAMA_SERVER", str(home / "none"))
    assert doctor_checks.check_llama_server().level == "fail"


def test_a_profile_whose_model_is_gone_fails_with_its_path(home):
    assert doctor_checks.check_models().level == "ok"
    config = home / "XDG_CONFIG_HOME" / "chrysalis" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[llm.profiles.e4b]\nmodel = "/none.gguf"\n')
    assert "e4b: /none.gguf" in doctor_checks.check_models().text
    config.write_text(f'[llm.profiles.e4b]\nmodel = "{config}"\n')
    assert doctor_checks.check_models().text == "e4b"


def test_little_memory_and_missing_pressure_information_warn(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 8000000 kB\nMemAvailable: 500000 kB\n")
    assert "Close something" in doctor_checks.check_memory(tmp_path).remedy
    (tmp_path / "meminfo").write_text("MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\n")
    assert "psi=1" in doctor_checks.check_memory(tmp_path).remedy
    (tmp_path / "pressure").mkdir()
    (tmp_path / "pressure" / "memory").touch()
    assert doctor_checks.check_memory(tmp_path).level == "ok"


def test_gpu_memory_is_told_where_the_driver_tells_it(tmp_path):
    assert "CPU" in doctor_checks.check_gpu(tmp_path, tmp_path).remedy
    device = tmp_path / "class" / "drm" / "card1" / "device"
    device.mkdir(parents=True)
    assert "per process" in doctor_checks.check_gpu(tmp_path, tmp_path).text
    for pool in ("vram", "gtt"):
        (device / f"mem_info_{pool}_total").write_text(str(512 << 20))
    assert "512 MiB GTT" in doctor_checks.check_gpu(tmp_path, tmp_path).text


def test_no_daemon_is_a_warning_with_how_to_start_one(home):
    found = doctor_checks.check_daemon()
    assert (found.level, "chrysalis daemon" in found.remedy) == ("warn", True)


def test_a_service_of_another_installation_is_noticed(home, monkeypatch):
    (home / "systemd").mkdir()
    (home / "systemd" / "private").touch()
    tools = home / "bin"
    tools.mkdir()
    (tools / "systemctl").write_text("#!/bin/sh\n")
    (tools / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    assert "not installed" in doctor_checks.check_systemd(home).text
    unit = home / "XDG_CONFIG_HOME" / "systemd" / "user" / "chrysalis.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("ExecStart=/elsewhere/python -m daemon\n")
    assert doctor_checks.check_systemd(home).level == "warn"
