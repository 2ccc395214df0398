"""Housekeeping: what was taught and is not used fades by the day, what has faded goes, the file is tidied."""

from msgspec import Struct

from .substrate import Substrate

DAY_NS = 86_400 * 1_000_000_000
DECAYED_KEY = "decayed_ns"


class Tidied(Struct, frozen=True):
    """Counts of weights that faded, weights that went, and examples left without any."""

    decayed: int
    pruned: int
    orphans: int


def consolidate(store: Substrate, decay: float, prune_below: float, now_ns: int) -> Tidied:
    """Fade by (1 - decay) per day since the later of the last fading and the node's last teaching; prune; drop orphans.

    Inside the caller's transaction. At one and the same `now_ns` a second run changes nothing. It reads and writes
    rows in place, so that what was taught meanwhile stays as it is.
    """
    database = store.database
    last = int(database.meta(DECAYED_KEY) or 0)
    decayed = 0
    if decay > 0:
        for node, used_ns in database.rows("SELECT node, max(used_ns) FROM example GROUP BY node ORDER BY node"):
            days = max(0, now_ns - max(last, used_ns)) / DAY_NS
            if days > 0:
                database.connection.execute(
                    "UPDATE association SET weight = weight * ? WHERE node = ?", ((1.0 - decay) ** days, node)
                )
                decayed += database.connection.changes()
        database.set_meta(DECAYED_KEY, max(last, now_ns))
    database.connection.execute("DELETE FROM association WHERE weight < ?", (prune_below,))
    pruned = database.connection.changes()
    database.connection.execute("DELETE FROM example WHERE node NOT IN (SELECT node FROM association)")
    orphans = database.connection.changes()
    database.connection.execute("DELETE FROM association WHERE node NOT IN (SELECT node FROM example)")
    return Tidied(decayed, pruned + database.connection.changes(), orphans)
