"""Every limit of the house in one place: sizes in bytes, times in milliseconds or seconds as named."""

from typing import Final

PROTOCOL_VERSION: Final = 1

# Messages on the wire.
REQUEST_MAX_BYTES: Final = 1 << 20
"""The largest tool call a client may send: 1 MiB."""
ACTOR_MESSAGE_MAX_BYTES: Final = 8 << 20
"""The largest message between daemon and actor: 8 MiB."""
REPLY_DEFAULT_BYTES: Final = 60_000
"""A reply is cut to this unless verbosity is `detail`; several clients break on longer lines."""
REPLY_MAX_BYTES: Final = 1 << 20
"""No reply is ever longer: 1 MiB."""
JSON_MAX_DEPTH: Final = 200
SOCKET_HWM: Final = 1_000
"""ZeroMQ high-water mark per peer and direction, in messages."""

# Calls.
DEADLINE_DEFAULT_MS: Final = 25_000
"""A well-known client gives up at 30 s and sends no cancel."""
DEADLINE_MAX_MS: Final = 3_600_000
ACTOR_QUEUE_MAX: Final = 256
"""Calls under way per actor; one more is `busy`."""
CLIENT_CALLS_MAX: Final = 64
"""Calls under way per client; one more is `busy`."""
BUSY_RETRY_AFTER_MS: Final = 250
REPLAY_MAX_ENTRIES: Final = 256
REPLAY_MAX_AGE_S: Final = 600
POISON_DEATHS: Final = 2
POISON_MAX_AGE_S: Final = 600
ADVICE_WAIT_MS: Final = 50
"""How long a finished call waits for its advisory before it is answered without one."""

# Batches.
BATCH_MAX_STEPS: Final = 25

# Sessions.
SESSIONS_MAX: Final = 512
SESSION_CACHE_MAX_BYTES: Final = 8 << 20
SESSION_CACHE_MAX_ENTRIES: Final = 256
SESSION_CACHE_MAX_AGE_S: Final = 6 * 3600
SESSION_IDLE_MAX_S: Final = 24 * 3600
CLIENT_SILENT_MAX_S: Final = 30
"""A client that has not been heard of for so long is taken for gone (bridges ping every 5 s)."""

# Supervision.
HEARTBEAT_INTERVAL_S: Final = 1.0
HEARTBEAT_SUSPECT_MISSES: Final = 3
HEARTBEAT_HUNG_MISSES: Final = 10
ACTOR_OVERDUE_HUNG_S: Final = 10.0
"""A job this long past its deadline, without a beat of progress, means that its actor hangs."""
ACTOR_START_MAX_S: Final = 60.0
RESTART_INTENSITY: Final = 5
RESTART_PERIOD_S: Final = 60.0
RESTART_BACKOFF_MIN_S: Final = 0.1
RESTART_BACKOFF_MAX_S: Final = 10.0
STOP_GRACE_S: Final = 5.0
TERM_GRACE_S: Final = 2.0
IDLE_EXIT_DEFAULT_S: Final = 1_800
DAEMON_START_MAX_S: Final = 20.0
