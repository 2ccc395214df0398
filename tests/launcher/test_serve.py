"""`chrysalis serve`: the official client over HTTP in both eras, and everyone without the token kept out."""

import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from launcher.serve import TokenError, load_token
from launcher.serve_gate import Gate
from tests.launcher.partner import ROOT, WAIT_S, Daemon

ERAS = ("legacy", "2026-07-28")
COMMAND = (
    "import argparse, sys; from launcher import serve; parser = argparse.ArgumentParser(); "
    "serve.register(parser.add_subparsers()); options = parser.parse_args(); sys.exit(options.run(options))"
)
SERVE = [sys.executable, "-c", COMMAND, "serve"]
TOKEN = "a-token-of-our-own-making"


class Served:
    """A `chrysalis serve` process."""

    def __init__(self, run, root, *arguments):
        self.token_file = root / "token"
        if not self.token_file.exists():
            self.token_file.write_text(TOKEN)
            self.token_file.chmod(0o600)
        env = {**os.environ, "CHRYSALIS_RUNTIME_DIR": str(run), "XDG_STATE_HOME": str(root / "state")}
        command = [*SERVE, "--port", "0", "--token-file", str(self.token_file)]
        self.process = subprocess.Popen(
            [*command, *arguments],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.url = self.process.stdout.readline().decode().strip()
        assert self.url.startswith("http://127.0.0.1:"), self.process.stderr.read().decode()
        self.address = ("127.0.0.1", int(self.url.split(":")[2].split("/")[0]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def ends_in_order(self, number):
        self.process.send_signal(number)
        assert self.process.wait(WAIT_S) == 0
        assert b"Traceback" not in self.process.stderr.read()

    def post(self, body=None, **headers):
        """One raw request; its answer."""
        given = {"authorization": f"Bearer {TOKEN}", "accept": "application/json, text/event-stream"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        given = {name: value for name, value in given.items() if value is not None}
        body = body or {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
        return httpx2.post(self.url, json=body, headers=given, timeout=WAIT_S)


INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}


@pytest.fixture(scope="module")
def fake(tmp_path_factory):
    """A fake daemon and a server in front of it."""
    run = tmp_path_factory.mktemp("serve") / "r"
    with Daemon(run) as daemon, Served(run, run.parent, "--origin", "https://ui.example") as served:
        served.daemon = daemon
        yield served
        served.ends_in_order(signal.SIGTERM)


def talk(served, era, conversation):
    """Hold a conversation through the official client."""

    async def main():
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=WAIT_S) as http,
            Client(streamable_http_client(served.url, http_client=http), mode=era) as client,
        ):
            with anyio.fail_after(WAIT_S):
                return await conversation(client)

    return anyio.run(main)


def arguments(action, **params):
    return {"domain": "memory", "action": action, "params": params}


@pytest.mark.parametrize("era", ERAS)
def test_the_official_client_lists_the_tool_and_calls_it(fake, era):
    async def conversation(client):
        (tool,) = (await client.list_tools()).tools
        result = await client.call_tool("chrysalis", arguments("echo", x="ä"))
        return tool, result

    tool, result = talk(fake, era, conversation)
    assert tool.name == "chrysalis" and tool.output_schema
    assert result.structured_content["data"]["arguments"]["params"] == {"x": "ä"} and not result.is_error


def test_the_real_daemon_answers_in_both_eras_and_ctrl_c_ends_the_server_in_order(stack, tmp_path):
    async def conversation(client):
        return await client.call_tool("chrysalis", {"domain": "meta", "action": "discover"})

    with Served(stack.runtime, tmp_path) as served:
        for era in ERAS:
            result = talk(served, era, conversation)
            assert result.structured_content["status"] == "ok"
            assert "memory" in result.structured_content["data"]["domains"]
        served.ends_in_order(signal.SIGINT)


@pytest.mark.parametrize("era", ERAS)
def test_progress_reaches_a_caller_that_asked(fake, era):
    told = []

    async def hear(done, total, message):
        told.append((done, total, message))

    async def conversation(client):
        return await client.call_tool("chrysalis", arguments("steps", n=3, ms=300), progress_callback=hear)

    talk(fake, era, conversation)
    assert told == [(0.0, 3.0, "step"), (1.0, 3.0, "step"), (2.0, 3.0, "step")]


@pytest.mark.parametrize("era", ERAS)
def test_an_unknown_tool_is_refused(fake, era):
    async def conversation(client):
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("other", {})

    talk(fake, era, conversation)


def test_a_caller_that_hangs_up_is_told_to_the_daemon(fake):
    before = len(fake.daemon.received("call")), len(fake.daemon.received("cancel"))

    async def conversation(client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "chrysalis", arguments("hang"))
            await anyio.to_thread.run_sync(fake.daemon.wait_received, "call", before[0] + 1)
            tasks.cancel_scope.cancel()

    talk(fake, "2026-07-28", conversation)
    assert fake.daemon.wait_received("cancel", before[1] + 1)


def test_a_call_does_not_wait_for_a_slow_one(fake):
    async def conversation(client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "chrysalis", arguments("hang"))
            result = await client.call_tool("chrysalis", arguments("echo"))
            tasks.cancel_scope.cancel()
        return result

    assert talk(fake, "2026-07-28", conversation).structured_content["status"] == "ok"


def test_the_daemon_knows_each_client_by_its_name(fake):
    session = fake.post().headers["mcp-session-id"]
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
    answer = fake.post(
        {**call, "params": {"name": "chrysalis", "arguments": arguments("echo")}}, mcp_session_id=session
    )
    assert answer.status_code == 200
    names = {hello["client"] for hello in fake.daemon.received("hello") if hello["kind"] == "http"}
    assert "raw" in names


# who is kept out


@pytest.mark.parametrize("token", [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", TOKEN])
def test_without_the_right_token_nothing_is_served(fake, token):
    answer = fake.post(authorization=token)
    assert answer.status_code == 401 and answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "localhost@evil.example", "[::2]", "127.0.0.1:0"],
)
def test_a_wrong_host_is_refused_even_with_the_token(fake, host):
    assert fake.post(host=host).status_code == 421


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://localhost.evil.example", "http://localhost:x", "https://localhost:1"],
)
def test_a_wrong_origin_is_refused_even_with_the_token(fake, origin):
    assert fake.post(origin=origin).status_code == 403


@pytest.mark.parametrize("origin", ["http://localhost:8080", "http://127.0.0.1:3000", "https://ui.example"])
def test_a_known_origin_is_served_with_what_its_browser_needs(fake, origin):
    answer = fake.post(origin=origin)
    assert answer.status_code == 200 and answer.headers["access-control-allow-origin"] == origin
    assert "mcp-session-id" in answer.headers["access-control-expose-headers"]
    asked = {"origin": origin, "access-control-request-method": "POST"}
    preflight = httpx2.options(fake.url, headers=asked, timeout=WAIT_S)
    assert preflight.status_code == 204 and "authorization" in preflight.headers["access-control-allow-headers"]


def test_a_preflight_from_elsewhere_is_refused(fake):
    assert httpx2.options(fake.url, headers={"origin": "https://evil.example"}, timeout=WAIT_S).status_code == 403


def test_a_body_beyond_the_limit_is_refused(fake):
    answer = fake.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"x": "y" * (2 << 20)}})
    assert answer.status_code == 413


def test_it_listens_on_loopback_only(fake):
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [row[1] for row in rows if row[3] == "0A" and row[1].endswith(f":{fake.address[1]:04X}")]
    assert listening == [f"0100007F:{fake.address[1]:04X}"]


def test_what_is_no_http_request_passes_the_gate_untouched():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    anyio.run(Gate(app, TOKEN), {"type": "lifespan"}, None, None)
    assert seen == ["lifespan"]


# the process


def test_a_port_that_is_taken_is_told(tmp_path):
    run = tmp_path / "r"
    with Daemon(run), socket.create_server(("127.0.0.1", 0)) as taken:
        env = {**os.environ, "CHRYSALIS_RUNTIME_DIR": str(run), "XDG_STATE_HOME": str(tmp_path / "state")}
        port = str(taken.getsockname()[1])
        command = [*SERVE, "--port", port]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "Cannot serve" in done.stderr


def test_the_token_is_made_once_and_is_for_its_owner_only(tmp_path):
    path = tmp_path / "deep" / "token"
    token = load_token(path)
    assert len(token) >= 32 and load_token(path) == token
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(("content", "mode"), [("x" * 40, 0o644), ("short", 0o600), ("with a space " * 4, 0o600)])
def test_a_token_file_that_cannot_be_trusted_is_refused(tmp_path, content, mode):
    path = tmp_path / "token"
    path.write_text(content)
    path.chmod(mode)
    with pytest.raises(TokenError):
        load_token(path)
