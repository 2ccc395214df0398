"""The contract as data: names, flags, and the pages generated from it."""

from pathlib import Path

import msgspec
import pytest

from protocol import contract, reference
from protocol.action import ActorName, Params
from protocol.validate import description, params_table

ROOT = Path(__file__).resolve().parents[2]
PROMISED = {
    "meta": {"schema", "discover", "handshake", "calibrate", "advise", "stats", "batch"},
    "memory": {"ingest", "recall", "update", "forget", "consolidate", "restore"},
    "reason": {"solve", "check"},
    "llm": {"status"},
}


def test_the_actions_that_a_model_sees_are_those_that_were_promised():
    """A new capability is a new action, and shows here."""
    seen: dict[str, set[str]] = {}
    for action in contract.visible():
        seen.setdefault(action.domain, set()).add(action.name)
    assert seen == PROMISED


def test_action_names_are_unique_so_that_a_wrong_domain_can_be_mended():
    """Among all that can be named."""
    names = [action.name for action in contract.visible(operator=True)]
    assert len(names) == len(set(names))


def test_read_only_mode_shows_no_action_that_writes():
    """And every destructive action writes."""
    assert all(action.read_only for action in contract.visible(readonly=True))
    assert not any(action.read_only for action in contract.ALL if action.destructive)


@pytest.mark.parametrize("action", contract.ALL, ids=lambda a: a.full_name)
def test_an_action_is_wholly_described(action):
    """A purpose in one line, params that refuse unknown names, a JSON-able example."""
    assert action.purpose and "\n" not in action.purpose and not action.purpose.endswith(".")
    assert issubclass(action.params, Params)
    assert action.params.__struct_config__.forbid_unknown_fields
    assert action.owner in (*ActorName.__args__, "daemon")
    msgspec.json.encode([action.example, *action.examples])
    assert set(params_table(action.params)) == {f.encode_name for f in msgspec.structs.fields(action.params)}


def test_most_params_say_what_they_mean():
    """At least four in five of the params a model sees carry words of their own."""
    fields = [f for action in contract.visible() for f in msgspec.structs.fields(action.params)]
    described = [f for f in fields if description(f.type)]
    assert len(described) >= 0.8 * len(fields)


def test_the_reference_page_is_what_the_contract_generates():
    """Run `python -m protocol.reference > docs/reference.md` after a change of the contract."""
    assert (ROOT / "docs" / "reference.md").read_text(encoding="utf-8") == reference.page()
