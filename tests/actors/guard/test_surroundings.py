"""Profiles, command lines, readings of the machine, logs, the scope: the edges of the guard."""

import json
import os
import signal
import sys

import pytest

from actors.guard import scope
from actors.guard.command import MARK, clean_environment, find_binary, known_flags, launch_for
from actors.guard.gathering import make_plan
from actors.guard.gpufloor import GpuFloor
from actors.guard.logs import LINE_MAX_CHARS, LINES_MAX, LogRing
from actors.guard.machine import Machine
from actors.guard.profiles import BUILT_IN, ProfileError, check_files, choose, load_profiles
from actors.guard.psi import PsiTrigger
from validation.benchmarks._guard_rig import Rig


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("CHRYSALIS_LLM_PROFILE", "CHRYSALIS_LLAMA_SERVER"):
        monkeypatch.delenv(name, raising=False)

    def write(text):
        (tmp_path / "chrysalis").mkdir(exist_ok=True)
        (tmp_path / "chrysalis" / "config.toml").write_text(text)

    return write


def test_a_profile_in_the_file_changes_the_built_in_one(config):
    config('[llm.profiles.e4b]\nmodel = "/m.gguf"\nctx = 4096\n[llm.profiles.mine]\nmodel = "x"\n')
    profiles = load_profiles()
    assert (profiles["e4b"].ctx, profiles["e4b"].ubatch) == (4096, BUILT_IN["e4b"].ubatch)
    assert profiles["mine"].name == "mine"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[llm.profiles.e4b]\nctz = 1\n", "ctz"),
        ("[llm.profiles.e4b]\nctx = 10\n", "ctx"),
        ('[llm.profiles.e4b]\ncache_type_k = "q3"\n', "q3"),
        ("[llm]\nprofiles = 3\n", "no table"),
    ],
)
def test_a_malformed_profile_is_told_with_its_name_and_field(config, text, said):
    config(text)
    with pytest.raises(ProfileError, match=said):
        load_profiles()


def test_the_only_profile_with_a_model_is_the_one_that_is_meant(config):
    assert choose() is None
    config('[llm.profiles.e4b]\nmodel = "/m.gguf"\n')
    assert choose().name == "e4b"
    config('[llm.profiles.e4b]\nmodel = "/m.gguf"\n[llm.profiles.b]\nmodel = "/b.gguf"\n')
    assert choose() is None
    config('[llm]\nprofile = "b"\n[llm.profiles.e4b]\nmodel = "/m.gguf"\n[llm.profiles.b]\nmodel = "/b.gguf"\n')
    assert choose().name == "b"
    assert choose(model="/c.gguf", ctx=512).ctx == 512
    with pytest.raises(ProfileError, match="There is no profile 'zzz'"):
        choose("zzz")


def test_missing_files_are_named(tmp_path):
    with pytest.raises(ProfileError, match="names no model"):
        check_files(BUILT_IN["e4b"])
    rig = Rig(tmp_path, mmproj=str(tmp_path / "none.gguf"))
    with pytest.raises(ProfileError, match=r"none\.gguf"):
        check_files(rig.profile)


def test_only_flags_that_the_binary_knows_are_written_and_the_rest_is_told(tmp_path):
    rig = Rig(tmp_path, reasoning="off", swa_full=True)
    flags = known_flags(rig.binary)
    launch = launch_for(rig.profile, rig.binary, flags, port=1234, mark="here")
    assert "--cache-ram" in launch.argv
    assert launch.argv[launch.argv.index("--fit") + 1] == "off"
    assert set(launch.left_out) == {"--offline", "--swa-full", "--reasoning"}
    assert not set(launch.left_out) & set(launch.argv)


def test_a_flag_is_written_as_an_older_build_spells_it(tmp_path):
    rig = Rig(tmp_path)
    old = frozenset({"--no-webui", "--swa-checkpoints"})
    argv = launch_for(rig.profile, rig.binary, old, port=1, mark="here").argv
    assert "--no-webui" in argv
    assert argv[argv.index("--swa-checkpoints") + 1] == "0"
    assert "--no-ui" not in argv


def test_a_gpu_profile_without_a_gpu_says_so_and_is_judged_by_the_processor(tmp_path):
    rig = Rig(tmp_path, gpu_layers="all")
    with rig.environment():
        assert "would run on the CPU" in make_plan(rig.profile, rig.machine, rig.ledger, "x").admission.text
        rig.gpu(used_mib=0)
        assert "would run on the CPU" not in make_plan(rig.profile, rig.machine, rig.ledger, "x").admission.text


def test_the_key_is_in_the_environment_and_never_on_the_command_line(tmp_path):
    rig = Rig(tmp_path)
    launch = launch_for(rig.profile, rig.binary, frozenset({"--alias"}), port=1, mark="here")
    assert launch.environment["LLAMA_API_KEY"] == launch.key
    assert len(launch.key) >= 32
    assert launch.key not in " ".join(launch.argv)
    assert launch.environment[MARK] == f"here#{launch.alias}"


def test_stray_variables_do_not_reach_the_server():
    given = {"LLAMA_ARG_CTX_SIZE": "1", "LLAMA_SERVER_ROUTER_PORT": "1", "CHRYSALIS_DB": "x", "PATH": "/bin"}
    assert clean_environment(given) == {"PATH": "/bin", "GGML_NO_BACKTRACE": "1"}


def test_a_binary_that_is_missing_or_cannot_run_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("CHRYSALIS_LLAMA_SERVER", str(tmp_path / "none"))
    with pytest.raises(ProfileError, match="not there or not executable"):
        find_binary()
    illegal = tmp_path / "llama-server"
    illegal.write_text(f"#!/bin/sh\nkill -{int(signal.SIGILL)} $$\n")
    illegal.chmod(0o755)
    with pytest.raises(ProfileError, match="another processor"):
        known_flags(illegal)


def test_gpu_memory_is_read_from_sysfs_and_each_drm_client_counts_once(tmp_path):
    rig = Rig(tmp_path)
    assert rig.machine.gpus() == []
    rig.gpu(used_mib=700, total_mib=1_000)
    (gpu,) = rig.machine.gpus()
    assert (gpu.total >> 20, gpu.used >> 20, gpu.free >> 20) == (1512, 700, 812)
    fdinfo = tmp_path / "proc" / "77" / "fdinfo"
    fdinfo.mkdir(parents=True)
    client = "drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\ndrm-client-id:\t9\n"
    text = client + "drm-total-system0:\t2048 KiB\ndrm-total-gtt:\t1 MiB\ndrm-engine-render:\t5000 ns\n"
    (fdinfo / "3").write_text(text)
    (fdinfo / "4").write_text(text)
    (fdinfo / "5").write_text("pos: 0\n")
    use = Machine(processes=tmp_path / "proc").gpu_use(77)
    assert (use.bytes, use.engine_ns, use.seen) == (3 << 20, 5000, True)
    assert not Machine(processes=tmp_path / "proc").gpu_use(78).seen


def test_the_real_machine_can_be_read():
    machine, me = Machine(), os.getpid()
    assert 0 < machine.memory().available <= machine.memory().total
    state = machine.process(me)
    assert state.state in "RS"
    assert state.rss > 1 << 20
    assert machine.process(2**22 + 1) is None


def test_pressure_is_none_where_the_kernel_tells_none_and_an_ordinary_file_takes_no_trigger(tmp_path):
    rig = Rig(tmp_path)
    rig.pressure(12.5)
    assert rig.machine.pressure().full == 12.5
    with pytest.raises(OSError, match="no file of the kernel"):
        PsiTrigger(tmp_path / "proc" / "pressure" / "memory", lambda: None)
    (tmp_path / "proc" / "pressure" / "memory").unlink()
    assert rig.machine.pressure() is None


def test_gpu_memory_counts_as_returned_within_a_slack(tmp_path):
    rig = Rig(tmp_path)
    rig.gpu(used_mib=500)
    floor = GpuFloor(rig.machine)
    assert floor.returned()
    assert floor.note() == ""
    rig.gpu(used_mib=740)
    assert floor.returned()
    rig.gpu(used_mib=800)
    assert not floor.returned()


def test_the_log_ring_keeps_the_last_lines_whole_and_counts_what_it_drops():
    ring = LogRing()
    ring.feed(b"one\ntw")
    ring.feed(b"o\r\nthree")
    assert ring.tail(2) == ["two", "three"]
    ring.feed(b"\n" + b"x" * (LINE_MAX_CHARS + 1))
    assert max(map(len, ring.tail(5))) == LINE_MAX_CHARS
    for n in range(LINES_MAX):
        ring.feed(f"{n}\n".encode())
    assert len(ring.tail(10_000)) == LINES_MAX
    assert ring.dropped >= 3
    ring.feed(b"\xff\n")
    assert ring.tail(1) == ["\ufffd"]


def test_a_scope_is_asked_for_only_where_the_user_manager_may_limit_memory(tmp_path, monkeypatch):
    service = tmp_path / "fs/cgroup/user.slice" / f"user-{os.getuid()}.slice" / f"user@{os.getuid()}.service"
    service.mkdir(parents=True)
    (service / "cgroup.controllers").write_text("memory pids\n")
    run, tools = tmp_path / "run", tmp_path / "bin"
    (run / "systemd").mkdir(parents=True)
    (run / "systemd" / "private").touch()
    tools.mkdir()
    (tools / "systemd-run").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tools))
    assert scope.available(tmp_path, {"XDG_RUNTIME_DIR": str(run)})
    assert not scope.available(tmp_path, {})
    (service / "cgroup.controllers").write_text("pids\n")
    assert not scope.available(tmp_path, {"XDG_RUNTIME_DIR": str(run)})
    assert "MemoryMax=150" in scope.prefix("u", 100)


def test_the_shim_says_what_it_could_not_execute(tmp_path):
    import subprocess

    from actors.guard.processes import SHIM

    done = subprocess.run(
        [sys.executable, "-I", "-S", SHIM, str(os.getpid()), "0", str(tmp_path / "none")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 127
    assert "cannot execute" in done.stderr
    orphan = subprocess.run([sys.executable, "-I", "-S", SHIM, "1", "0", "true"], check=False)
    assert orphan.returncode == 1


def test_the_rig_speaks_json_to_its_server(tmp_path):
    assert json.loads(Rig(tmp_path, {"a": 1}).profile.env["FAKE"]) == {"a": 1}


def test_the_kernel_takes_the_pressure_trigger_where_it_has_any():
    path = Machine().proc / "pressure" / "memory"
    if not os.access(path, os.W_OK):
        assert Machine().pressure() is None or os.getuid() != 0
        return
    PsiTrigger(path, lambda: None).close()
