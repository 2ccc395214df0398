"""The `chrysalis` command as a person in a terminal uses it."""

import json
import subprocess
import sys

import pytest

from launcher.cli import MODULES, build_parser
from validation.stack import Stack


def chrysalis(stack, *words, **options):
    return subprocess.run(
        [sys.executable, "-m", "launcher.cli", *words],
        env=stack.environment, capture_output=True, text=True, timeout=60, check=False, **options,
    )  # fmt: skip


def test_every_command_is_there_and_explains_itself():
    """All modules register; --help of each ends with 0."""
    parser = build_parser(list(MODULES.values()))
    (subparsers,) = [action for action in parser._actions if action.dest == "command"]
    assert set(subparsers.choices) == set(MODULES)
    for name, command in subparsers.choices.items():
        assert command.format_help().startswith("usage:"), name


def test_call_prints_the_envelope_and_its_exit_code_tells_how_it_went(stack):
    """0 for ok, 1 for an error, params also from standard input."""
    fine = chrysalis(stack, "call", "meta", "discover")
    assert fine.returncode == 0
    assert json.loads(fine.stdout)["status"] == "ok"
    wrong = chrysalis(stack, "call", "memory", "recall", "{}")
    assert wrong.returncode == 1
    assert json.loads(wrong.stdout)["data"]["code"] == "invalid_params"
    piped = chrysalis(
        stack, "call", "reason", "solve", "-", input='{"vars": {"x": "int 1..3"}, "constraints": ["x > 2"]}'
    )
    assert json.loads(piped.stdout)["data"]["model"]["x"] == 3


@pytest.mark.parametrize("params", ["not json", "[1]", "{"])
def test_params_that_are_no_json_object_are_told_before_anything_is_called(stack, params):
    """With what they must be."""
    done = chrysalis(stack, "call", "memory", "recall", params)
    assert done.returncode == 1
    assert "params" in done.stderr


def test_status_is_a_table_for_people_and_json_for_machines(stack):
    """Both name every actor."""
    table = chrysalis(stack, "status")
    assert table.returncode == 0
    assert all(name in table.stdout for name in ("memory", "solver", "advisory", "guard", "running"))
    assert set(json.loads(chrysalis(stack, "status", "--json").stdout)["actors"]) == {
        "memory",
        "solver",
        "advisory",
        "guard",
    }


def test_restart_brings_an_actor_back_with_another_pid(stack, client):
    """And waits until it runs."""
    before = client.control("status")["actors"]["guard"]["pid"]
    done = chrysalis(stack, "restart", "guard")
    assert (done.returncode, done.stdout) == (0, "guard is running\n")
    assert client.control("status")["actors"]["guard"]["pid"] != before
    stack.note_processes()


def test_without_a_daemon_the_exit_code_is_3_and_the_sentence_says_how_to_start_one():
    """For everything that needs it."""
    nobody = Stack()
    for words in (("status",), ("stop",), ("call", "meta", "discover")):
        done = chrysalis(nobody, *words)
        assert done.returncode == 3
        assert "chrysalis daemon" in done.stderr
    nobody.close()


def test_stop_ends_the_daemon_in_order():
    """No process and no socket is left."""
    with Stack() as running:
        done = chrysalis(running, "stop")
        assert (done.returncode, done.stdout) == (0, "stopped\n")
        assert running.process.wait(5) == 0


def test_wrong_usage_is_exit_code_2():
    """As every command line has it."""
    nobody = Stack()
    assert chrysalis(nobody, "nonsense").returncode == 2
    assert chrysalis(nobody, "restart", "nobody").returncode == 2
    nobody.close()


@pytest.mark.slow
def test_the_demo_does_the_main_job_and_leaves_nothing():
    """The whole of it, without the public data."""
    nobody = Stack()
    done = chrysalis(nobody, "demo", "--small")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mcpServers" in done.stdout
    nobody.close()
