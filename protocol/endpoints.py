"""Where daemon, actors and clients meet: one private directory, the sockets and the lock in it.

Light on purpose: the bridge imports this at start-up.
"""

import os

IPC_PATH_MAX_BYTES = 107
"""The longest path that a Unix socket takes on Linux."""


class EndpointError(Exception):
    """Raised when the runtime directory is not private, not ours, or its path is too long for a socket."""


def _choose() -> str:
    chosen = os.environ.get("CHRYSALIS_RUNTIME_DIR")
    if chosen:
        return os.path.abspath(os.path.expanduser(chosen))
    # MCP clients start servers with a reduced environment: the same user must still meet at the same place
    run = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    if run and os.path.isdir(run) and os.stat(run).st_uid == os.getuid():
        return os.path.join(run, "chrysalis")
    return os.path.join(state_dir(), "run")


def state_dir() -> str:
    """The directory for logs and, where there is no XDG_RUNTIME_DIR, for the sockets; not created here."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(home, "chrysalis")


def runtime_dir() -> str:
    """The directory of the sockets, created 0700 when missing.

    Raises:
        EndpointError: when it belongs to somebody else, others may enter it, or its path is too long.
    """
    path = _choose()
    longest = os.path.join(path, "bridge.sock")
    if len(os.fsencode(longest)) > IPC_PATH_MAX_BYTES:
        raise EndpointError(
            f"The socket path {longest} is longer than {IPC_PATH_MAX_BYTES} bytes; "
            "set CHRYSALIS_RUNTIME_DIR to a shorter directory."
        )
    os.makedirs(path, mode=0o700, exist_ok=True)
    stat = os.stat(path)
    if stat.st_uid != os.getuid():
        raise EndpointError(f"{path} belongs to user {stat.st_uid}, not to you; set CHRYSALIS_RUNTIME_DIR.")
    if stat.st_mode & 0o077:
        raise EndpointError(f"{path} may be entered by others; run: chmod 700 {path}")
    return path


def bridge_socket() -> str:
    """Path of the socket that clients connect to."""
    return os.path.join(runtime_dir(), "bridge.sock")


def actors_socket() -> str:
    """Path of the socket that actors connect to."""
    return os.path.join(runtime_dir(), "actors.sock")


def bridge_endpoint() -> str:
    """ZeroMQ endpoint for clients."""
    return f"ipc://{bridge_socket()}"


def actors_endpoint() -> str:
    """ZeroMQ endpoint for actors."""
    return f"ipc://{actors_socket()}"


def lock_file() -> str:
    """The file whose flock makes a daemon the only one."""
    return os.path.join(runtime_dir(), "daemon.lock")


def advisory_file() -> str:
    """Small JSON {"slot", "instructions"} that the daemon leaves for bridges that have not connected yet."""
    return os.path.join(runtime_dir(), "advisory.json")
