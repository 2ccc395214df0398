"""Ports of this machine: one that is free now, and whether a given one is."""

import socket


def free_port() -> int:
    """A port that is free now; another program may still take it, which is noticed and retried."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def port_is_free(port: int) -> bool:
    """Whether the port could be listened on now; one in TIME_WAIT can."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
