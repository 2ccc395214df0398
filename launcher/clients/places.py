"""Where each MCP client keeps its servers, under which key, and what it wants in an entry.

Sources: the clients' own documentation as of 2026-11; llama-server: `--mcp-servers-config` of tools/server.
"""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from protocol.settings import config_path


class Place(Struct, frozen=True):
    """One client: its file, the key that holds its servers, fields that an entry needs besides, what to do next."""

    title: str
    file: Callable[[], Path]
    key: str
    extra: dict[str, Any]
    then: str


def _config() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _application(name: str) -> Path:
    """The configuration directory of a desktop application."""
    return (Path.home() / "Library" / "Application Support" if sys.platform == "darwin" else _config()) / name


def _claude_code() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home()) / ".claude.json"


CLIENTS: Final[Mapping[str, Place]] = {
    "claude-desktop": Place(
        "Claude Desktop",
        lambda: _application("Claude") / "claude_desktop_config.json",
        "mcpServers",
        {},
        "Quit Claude Desktop and open it again.",
    ),
    "claude-code": Place("Claude Code", _claude_code, "mcpServers", {"type": "stdio"}, "Start a new session: claude"),
    "cursor": Place(
        "Cursor",
        lambda: Path.home() / ".cursor" / "mcp.json",
        "mcpServers",
        {},
        "Switch the server on in Cursor's settings, under MCP.",
    ),
    "vscode": Place(
        "VS Code",
        lambda: _application("Code") / "User" / "mcp.json",
        "servers",
        {"type": "stdio"},
        "Start the server from the command palette: MCP: List Servers",
    ),
    "zed": Place(
        "Zed", lambda: _config() / "zed" / "settings.json", "context_servers", {}, "Zed takes it over at once."
    ),
    "lmstudio": Place(
        "LM Studio",
        lambda: Path.home() / ".lmstudio" / "mcp.json",
        "mcpServers",
        {},
        "Switch the server on in the chat's integrations.",
    ),
    "llama-server": Place(
        "llama-server",
        lambda: config_path().with_name("llama-server-mcp.json"),
        "mcpServers",
        {},
        "Start it with: llama-server --mcp-servers-config {file} ...",
    ),
}
