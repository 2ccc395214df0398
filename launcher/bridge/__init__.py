"""The MCP server that clients start: stdio on one side, the daemon's socket on the other, no state of its own.

Light by rule: no third-party package, and of the standard library only what an answer needs; a test lists
the modules that it may load.
"""

from .loop import main

__all__ = ["main"]
