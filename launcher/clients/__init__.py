"""The MCP clients that can be set up, and the editing of their configuration files."""

from .entry import entry, merged
from .jsonc import NotJson, read, with_member
from .places import CLIENTS, Place

__all__ = ["CLIENTS", "NotJson", "Place", "entry", "merged", "read", "with_member"]
