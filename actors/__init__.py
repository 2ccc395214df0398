"""The actors: each a process of its own, started as `python -m actors.NAME` by the daemon."""
