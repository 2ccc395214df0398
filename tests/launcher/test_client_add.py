"""`chrysalis client add`: our entry goes in, everything else stays byte for byte."""

import argparse
import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher import client_add
from launcher.clients import CLIENTS, NotJson, jsonc

JSONC = """// my settings
{
  "theme": "One Dark", /* dark */
  // servers I like
  "KEY": {
    "other": { "command": "x", "args": ["{", "}", "\\"//\\""] }, // keep
  },
  "last": [1, 2.5e3, null, true,],
}
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home of its own, with nothing of ours in the environment."""
    for name in list(os.environ):
        if name.startswith(("CHRYSALIS_", "XDG_", "CLAUDE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def command(*arguments):
    parser = argparse.ArgumentParser()
    client_add.register(parser.add_subparsers())
    options = parser.parse_args(["client", "add", *arguments])
    return options.run(options)


def backups(file):
    return sorted(file.parent.glob(f"{file.name}.*.bak"))


each_client = pytest.mark.parametrize("name", sorted(CLIENTS))


@each_client
def test_a_missing_file_is_created_with_its_directories(name, capsys):
    place = CLIENTS[name]
    assert not place.file().exists()
    assert command(name) == 0
    entry = json.loads(place.file().read_text())[place.key]["chrysalis"]
    assert Path(entry["command"]).is_absolute()
    assert backups(place.file()) == []
    assert str(place.file()) in capsys.readouterr().out


@each_client
def test_comments_and_other_servers_stay_byte_for_byte(name):
    place = CLIENTS[name]
    file = place.file()
    file.parent.mkdir(parents=True, exist_ok=True)
    before = JSONC.replace("KEY", place.key)
    file.write_text(before)
    assert command(name) == 0
    after = file.read_text()
    at = after.index('\n    "chrysalis"')
    end = at + len(after) - len(before)
    assert after[:at] + after[end:] == before
    assert jsonc.read(after)[place.key]["other"] == {"command": "x", "args": ["{", "}", '"//"']}
    (backup,) = backups(file)
    assert backup.read_text() == before


@each_client
def test_adding_again_changes_nothing_and_keeps_no_further_backup(name, capsys):
    place = CLIENTS[name]
    file = place.file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('{"x": 1}')
    command(name)
    once, stamp = file.read_bytes(), file.stat().st_mtime_ns
    assert command(name) == 0
    assert (file.read_bytes(), file.stat().st_mtime_ns) == (once, stamp)
    assert len(backups(file)) == 1
    assert "already" in capsys.readouterr().out


@each_client
@pytest.mark.parametrize(
    "broken",
    [
        '{"a": 1',
        '{"a": }',
        "{'a': 1}",
        '{"a": 1} x',
        "[]",
        '"x"',
        '{"KEY": []}',
        '{"KEY": 3}',
        "{,}",
        '{"a" 1}',
        "/* {}",
    ],
)
def test_what_is_not_json_is_refused_and_untouched(name, broken, capsys):
    place = CLIENTS[name]
    file = place.file()
    file.parent.mkdir(parents=True, exist_ok=True)
    text = broken.replace("KEY", place.key)
    file.write_text(text)
    assert command(name) == 1
    assert file.read_text() == text
    assert [path for path in file.parent.iterdir() if path.is_file()] == [file]
    assert "untouched" in capsys.readouterr().err


@each_client
def test_print_shows_the_entry_and_writes_nothing(name, capsys):
    place = CLIENTS[name]
    assert command(name, "--print") == 0
    assert "command" in json.loads(capsys.readouterr().out)[place.key]["chrysalis"]
    assert not place.file().exists()


def test_an_older_entry_is_updated_and_what_the_user_added_to_it_stays(home):
    file = home / "mcp.json"
    old = {"command": "old", "args": ["x"], "disabled": True, "env": {"MINE": "1"}}
    file.write_text(json.dumps({"mcpServers": {"chrysalis": old, "z": {}}}))
    assert command("cursor", "--file", str(file)) == 0
    servers = json.loads(file.read_text())["mcpServers"]
    assert servers["chrysalis"]["command"] != "old" and servers["chrysalis"]["disabled"] is True
    assert servers["chrysalis"]["env"]["MINE"] == "1" and servers["z"] == {}
    assert len(backups(file)) == 1
    file.write_text(file.read_text().replace("MINE", "YOURS").replace('"disabled": true', '"disabled": false'))
    assert command("cursor", "--file", str(file)) == 0
    assert len(backups(file)) == 1


def test_settings_of_this_shell_go_into_the_entry_so_that_both_meet(home, monkeypatch, capsys):
    monkeypatch.setenv("CHRYSALIS_DB", "/elsewhere/substrate.db")
    monkeypatch.setenv("XDG_STATE_HOME", "/elsewhere/state")
    monkeypatch.setenv("CHRYSALIS_DATA", "/not/for/clients")
    command("zed", "--print")
    env = json.loads(capsys.readouterr().out)["context_servers"]["chrysalis"]["env"]
    assert env["CHRYSALIS_DB"] == "/elsewhere/substrate.db" and env["XDG_STATE_HOME"] == "/elsewhere/state"
    assert "CHRYSALIS_DATA" not in env


@pytest.mark.parametrize("content", ["", "  \n", "{}", "{ }\n", "\ufeff{}", "{\r\n}\r\n", "{ // nothing yet\n}"])
def test_an_empty_file_or_object_takes_the_entry(home, content):
    file = home / "f.json"
    file.write_bytes(content.encode())
    assert command("lmstudio", "--file", str(file)) == 0
    assert "chrysalis" in jsonc.read(file.read_bytes().decode())["mcpServers"]


def test_windows_line_ends_stay_windows_line_ends(home):
    file = home / "f.json"
    file.write_bytes(b'{\r\n\t"mcpServers": {\r\n\t\t"a": {}\r\n\t}\r\n}\r\n')
    assert command("cursor", "--file", str(file)) == 0
    after = file.read_bytes()
    assert after.count(b"\n") == after.count(b"\r\n")
    assert b'\r\n\t\t"chrysalis": {' in after


def test_mode_and_link_of_the_file_stay(home):
    target = home / "dotfiles.json"
    target.write_text("{}")
    target.chmod(0o640)
    link = home / "link.json"
    link.symlink_to(target)
    assert command("cursor", "--file", str(link)) == 0
    assert link.is_symlink() and stat.S_IMODE(target.stat().st_mode) == 0o640
    assert "chrysalis" in target.read_text()


def test_a_directory_that_cannot_be_written_is_told(home, capsys):
    (home / "f").write_text("a file, not a directory")
    assert command("cursor", "--file", str(home / "f" / "mcp.json")) == 1
    assert capsys.readouterr().err


def test_bytes_that_are_no_text_are_refused(home, capsys):
    file = home / "f.json"
    file.write_bytes(b'{"a": "\xff"}')
    assert command("cursor", "--file", str(file)) == 1
    assert file.read_bytes() == b'{"a": "\xff"}' and "not UTF-8" in capsys.readouterr().err


def test_a_broken_file_is_told_by_line_and_column():
    with pytest.raises(NotJson, match="line 3, column 8"):
        jsonc.read('{\n "a": 1,\n "b":  ,\n}')


def test_nesting_beyond_reason_is_refused():
    with pytest.raises(NotJson, match="too deep"):
        jsonc.read("[" * 5_000)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(JSON, st.sampled_from([None, 1, 2, "\t"]))
def test_the_scanner_reads_json_as_json_reads_it(data, indent):
    assert jsonc.read(json.dumps(data, indent=indent)) == data


@settings(max_examples=60)
@given(
    st.dictionaries(st.text(max_size=4), JSON, max_size=4),
    st.lists(st.text(max_size=3), min_size=1, max_size=3),
    JSON,
    st.sampled_from([None, 2, "\t"]),
)
def test_a_member_that_was_set_is_there_and_all_else_as_it_was(document, path, data, indent):
    expected = json.loads(json.dumps(document))
    at = expected
    for key in path[:-1]:
        at = at.setdefault(key, {}) if isinstance(at, dict) else None
        if not isinstance(at, dict):
            with pytest.raises(NotJson):
                jsonc.with_member(json.dumps(document, indent=indent), tuple(path), data)
            return
    at[path[-1]] = data
    assert json.loads(jsonc.with_member(json.dumps(document, indent=indent), tuple(path), data)) == expected
