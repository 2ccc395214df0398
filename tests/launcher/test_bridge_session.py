"""The MCP conversation of the bridge, without any process: both eras, every refusal."""

import json

import pytest
from mcp_types import methods

from launcher.bridge import tool
from launcher.bridge.session import HANDSHAKE_VERSIONS, Session
from tests.launcher.partner import MODERN

META = "io.modelcontextprotocol/"


class Talk:
    """A session with its ends in lists."""

    def __init__(self):
        self.out, self.started, self.stopped, self.now = [], [], [], 100.0
        self.tool = tool.load()
        self.session = Session(
            self.tool,
            write=lambda line: self.out.append(json.loads(line)),
            start=self.started.append,
            stop=self.stopped.append,
            clock=lambda: self.now,
        )

    def say(self, message):
        """What the session answers to one line."""
        before = len(self.out)
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.session.receive(line)
        return self.out[before:]

    def ask(self, method, params=None, id=1):
        return self.say({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})

    def initialize(self, version="2025-11-25"):
        info = {"name": "a client", "version": "1"}
        return self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": info})[0]["result"]

    def call(self, arguments=None, id=1, meta=None, name="chrysalis"):
        params = {"name": name, "arguments": {} if arguments is None else arguments}
        return self.ask("tools/call", {**params, **({"_meta": meta} if meta else {})}, id)


@pytest.fixture
def talk():
    return Talk()


@pytest.fixture
def legacy(talk):
    talk.initialize()
    return talk


def code(answers):
    assert len(answers) == 1
    return answers[0]["error"]["code"]


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_each_handshake_revision_is_agreed_to(talk, version):
    assert talk.initialize(version)["protocolVersion"] == version


@pytest.mark.parametrize("version", ["1999-01-01", None, 3, "2026-07-28"])
def test_an_unknown_revision_gets_the_newest_handshake_one(talk, version):
    assert talk.initialize(version)["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_handshake_answers_are_what_the_official_types_expect(talk, version):
    result = talk.initialize(version)
    methods.validate_server_result("initialize", version, result)
    methods.validate_server_result("tools/list", version, talk.ask("tools/list")[0]["result"])
    methods.validate_server_result("ping", version, talk.ask("ping")[0]["result"])
    talk.call()
    talk.session.answered(talk.started[0], b'{"status":"ok","severity":"INFO","summary":"s"}', is_error=False)
    methods.validate_server_result("tools/call", version, talk.out[-1]["result"])


def test_stateless_answers_are_what_the_official_types_expect(talk):
    version = "2026-07-28"
    for method in ("server/discover", "tools/list"):
        result = talk.ask(method, {"_meta": MODERN})[0]["result"]
        methods.validate_server_result(method, version, result)
        assert result["resultType"] == "complete" and result["ttlMs"] >= 0 and result["cacheScope"] == "private"
        assert result["_meta"][META + "serverInfo"]["name"] == "chrysalis"
    talk.call(meta=MODERN)
    talk.session.answered(talk.started[0], b'{"status":"ok","severity":"INFO","summary":"s"}', is_error=False)
    result = talk.out[-1]["result"]
    methods.validate_server_result("tools/call", version, result)
    assert result["resultType"] == "complete"


def test_a_stateless_request_needs_its_meta(talk):
    assert code(talk.ask("tools/list")) == -32602
    assert code(talk.ask("server/discover")) == -32602
    assert code(talk.ask("tools/list", {"_meta": {META + "protocolVersion": "2026-07-28"}})) == -32602
    assert code(talk.ask("tools/list", {"_meta": {**MODERN, META + "protocolVersion": 3}})) == -32602


def test_an_unknown_stateless_revision_is_told_what_is_supported(talk):
    answer = talk.ask("tools/list", {"_meta": {**MODERN, META + "protocolVersion": "2030-01-01"}})[0]
    assert answer["error"]["code"] == -32022
    assert answer["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2030-01-01"}


@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "resources/list"])
def test_what_the_stateless_era_lacks_is_not_found(talk, method):
    assert code(talk.ask(method, {"_meta": MODERN})) == -32601


@pytest.mark.parametrize("method", ["resources/list", "prompts/get", "", "tools/call ", "subscriptions/listen"])
def test_an_unknown_method_is_not_found(legacy, method):
    assert code(legacy.ask(method)) == -32601


@pytest.mark.parametrize("name", ["other", None, 3, "Chrysalis"])
def test_an_unknown_tool_is_refused_by_name(legacy, name):
    assert code(legacy.call(name=name)) == -32602
    assert not legacy.started


@pytest.mark.parametrize(
    ("line", "expected", "id"),
    [
        (b"nonsense", -32700, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping"', -32700, 7),
        (b'{"jsonrpc":"2.0","method":"tools/call","id":"a","params":{"x":NaN}}', -32700, "a"),
        (b'{"jsonrpc":"2.0","params":{"id":3},"x":}', -32700, None),
        (b'{"jsonrpc":"2.0","id":4,"method":"ping","params":{"x":"\xff"}}', -32700, 4),
        (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":' + b"[" * 100_000, -32700, 5),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":6,"method":"ping"}]', -32600, 6),
        (b"3", -32600, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
        (b'{"id":8,"method":"ping"}', -32600, 8),
        (b'{"jsonrpc":"2.0","id":9}', -32600, 9),
        (b'{"jsonrpc":"2.0","id":10,"method":"ping","params":[]}', -32602, 10),
    ],
)
def test_each_malformed_line_is_answered_with_the_id_that_can_be_told(legacy, line, expected, id):
    answers = legacy.say(line)
    assert [(a["error"]["code"], a["id"]) for a in answers] == [(expected, id)]


def test_a_batch_is_served_in_the_one_revision_that_has_it(talk):
    talk.initialize("2025-03-26")
    pings = [{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in (4, 5)]
    assert [answer["id"] for answer in talk.say(pings)] == [4, 5]


@pytest.mark.parametrize(
    "line",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "no/such/notification", "params": {}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}},
        {"jsonrpc": "2.0", "id": 3, "result": {}},
        {"jsonrpc": "2.0", "id": 3, "error": {"code": 1, "message": ""}},
    ],
)
def test_what_is_no_request_is_not_answered(legacy, line):
    assert legacy.say(line) == []


@pytest.mark.parametrize("arguments", ["{}", [], 3, {"domain": "memory"}, {"": None}])
def test_arguments_go_to_the_daemon_as_they_came(legacy, arguments):
    legacy.call(arguments)
    assert json.loads(legacy.started[0].arguments) == arguments


def test_missing_and_null_arguments_are_an_empty_object(legacy):
    legacy.ask("tools/call", {"name": "chrysalis"}, 1)
    legacy.ask("tools/call", {"name": "chrysalis", "arguments": None}, 2)
    assert [call.arguments for call in legacy.started] == [b"{}", b"{}"]


def test_a_lone_surrogate_is_served_as_a_replacement_character(legacy):
    legacy.say(
        rb'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chrysalis","arguments":{"x":"a\ud800b\ud83d\ude00"}}}'
    )
    assert json.loads(legacy.started[0].arguments) == {"x": "a\ufffdb\U0001f600"}


def test_a_number_beyond_json_is_refused_not_passed_on(legacy):
    answers = legacy.say(
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chrysalis","arguments":{"x":1e999}}}'
    )
    assert code(answers) == -32602 and not legacy.started


def test_a_call_has_25_seconds_and_with_a_progress_token_10_minutes(legacy):
    legacy.call(id=1)
    legacy.call(id=2, meta={"progressToken": 0})
    assert [call.deadline - legacy.now for call in legacy.started] == [25.0, 600.0]


def test_more_than_a_mebibyte_of_arguments_is_told_to_be_too_large(legacy):
    envelope = json.loads(legacy.call({"x": "y" * (1 << 20)})[0]["result"]["content"][0]["text"])
    assert envelope["data"]["code"] == "too_large" and not legacy.started


def test_more_calls_than_the_limit_are_busy(legacy):
    for number in range(256):
        legacy.call(id=number)
    assert legacy.call(id="more")[0]["result"]["structuredContent"]["data"]["code"] == "busy"
    assert len(legacy.started) == 256


def test_a_call_is_answered_once_however_often_the_daemon_answers(legacy):
    legacy.call()
    for _ in range(3):
        legacy.session.answered(legacy.started[0], b'{"status":"ok"}', is_error=False)
    assert len(legacy.out) == 2


def test_a_request_that_reuses_an_id_under_way_shares_its_one_answer(legacy):
    legacy.call(id=5)
    assert legacy.call(id=5) == []
    assert len(legacy.started) == 1


def test_text_and_structured_content_are_the_same_envelope(legacy):
    legacy.call()
    legacy.session.answered(legacy.started[0], '{"status":"error",\n"summary":"ä\\u2028"}'.encode(), is_error=True)
    result = legacy.out[-1]["result"]
    assert result["isError"] is True
    assert (
        json.loads(result["content"][0]["text"])
        == result["structuredContent"]
        == {"status": "error", "summary": "ä\u2028"}
    )


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26"])
def test_revisions_without_structured_content_are_spared_it(talk, version):
    talk.initialize(version)
    talk.call()
    talk.session.answered(talk.started[0], b'{"status":"ok"}', is_error=False)
    assert "structuredContent" not in talk.out[-1]["result"]


def test_a_cancelled_call_is_stopped_and_never_answered(legacy):
    legacy.call(id=3)
    legacy.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}})
    assert legacy.stopped == legacy.started
    before = len(legacy.out)
    legacy.session.answered(legacy.started[0], b"{}", is_error=False)
    legacy.session.progressed(legacy.started[0], 1, None, "")
    assert len(legacy.out) == before
    legacy.call(id=3)
    assert len(legacy.started) == 2


def test_progress_is_told_with_a_token_only_and_strictly_increases(legacy):
    legacy.call(id=1)
    legacy.call(id=2, meta={"progressToken": "p"})
    before = len(legacy.out)
    for done in (1, 2, 2, 1, 3.5):
        for call in legacy.started:
            legacy.session.progressed(call, done, 4, "m")
    told = legacy.out[before:]
    assert [m["params"]["progress"] for m in told] == [1, 2, 3.5]
    assert told[0]["params"] == {"progressToken": "p", "progress": 1, "total": 4, "message": "m"}


def test_a_changed_slot_replaces_its_sentence_and_is_announced_to_those_who_listed(legacy):
    plain = legacy.ask("tools/list")[0]["result"]["tools"][0]["description"]
    assert legacy.tool.advise("Use solve\nfirst.", "Be brief.")
    legacy.session.tools_changed()
    assert legacy.out[-1] == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    advised = legacy.ask("tools/list")[0]["result"]["tools"][0]["description"]
    assert "Use solve first." in advised and len(advised.splitlines()) == len(plain.splitlines())
    assert not legacy.tool.advise("Use solve first.", "Be brief.")
    assert legacy.tool.advise("", "")
    assert legacy.ask("tools/list")[0]["result"]["tools"][0]["description"] == plain


def test_instructions_are_given_in_both_eras_and_cut_below_what_clients_cut(talk):
    talk.tool.advise("", "i" * 5_000)
    assert talk.initialize()["instructions"] == "i" * 1_900
    assert talk.ask("server/discover", {"_meta": MODERN})[0]["result"]["instructions"] == "i" * 1_900


def test_a_listener_is_acknowledged_told_and_closed_in_order(talk):
    notifications = {"toolsListChanged": True, "promptsListChanged": True}
    params = {"_meta": MODERN, "notifications": notifications}
    acknowledged = talk.ask("subscriptions/listen", params, id="l")
    stamp = {META + "subscriptionId": "l"}
    assert acknowledged == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {"notifications": {"toolsListChanged": True}, "_meta": stamp},
        }
    ]
    talk.session.tools_changed()
    assert talk.out[-1]["params"]["_meta"] == stamp
    talk.session.close()
    assert talk.out[-1]["id"] == "l" and talk.out[-1]["result"]["resultType"] == "complete"
    talk.session.close()
    assert talk.out[-1]["id"] == "l"


def test_a_cancelled_listener_hears_no_more(talk):
    talk.ask("subscriptions/listen", {"_meta": MODERN, "notifications": {"toolsListChanged": True}}, id=1)
    talk.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    before = len(talk.out)
    talk.session.tools_changed()
    assert len(talk.out) == before


def test_the_client_is_known_by_the_name_it_gives(talk):
    assert talk.session.client == "" and not talk.session.engaged
    talk.ask("tools/list", {"_meta": MODERN})
    assert talk.session.client == "test" and talk.session.engaged
    talk.initialize()
    assert talk.session.client == "a client"


def test_a_page_that_does_not_exist_is_refused(legacy):
    assert code(legacy.ask("tools/list", {"cursor": "x"})) == -32602


def test_read_only_mode_shows_no_action_that_writes(monkeypatch):
    monkeypatch.setenv("CHRYSALIS_READONLY", "1")
    shown = tool.load().definition()
    assert shown["annotations"]["readOnlyHint"] is True
    assert "ingest" not in json.dumps(shown)
    monkeypatch.setenv("CHRYSALIS_READONLY", "0")
    assert "ingest" in json.dumps(tool.load().definition())
