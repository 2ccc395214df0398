"""What is measured of each memory server, ours alike: start, tokens, memory, latency against size, writes lost."""

import contextlib
import os
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psutil

from validation.stack import Stack

from ._h_words import Names, Triple, distractors, two_hops
from ._peers_client import NoAnswer, PeerClient, private_mib
from ._peers_servers import OURS, Call, MemoryServer

ASKED: Final = 30
TRIES: Final = 4
CLIENTS: Final = 5
LOAD_MAX_S: Final = 60.0
ASK_MAX_S: Final = 20.0
SETTLE_S: Final = 3.0
"""Memory that grows by less than a hundredth in so long has settled."""
SETTLE_MAX_S: Final = 30.0
SEED: Final = 61
Count = Callable[[Any], int]


class Home:
    """Where one server keeps its data; for ours also the daemon, started by the bridge as for any user."""

    def __init__(self, server: MemoryServer, directory: Path) -> None:
        self.server, self.directory = server, directory
        base = {key: value for key, value in os.environ.items() if not key.startswith("CHRYSALIS_")}
        self.stack = Stack(keep=directory) if server.name == OURS else None
        self.environment = self.stack.environment if self.stack else {**base, **server.environment(directory)}

    def client(self) -> PeerClient:
        """A new client with a server process of its own."""
        return PeerClient(self.server.command(), self.environment, str(self.directory))

    def daemon(self) -> list[psutil.Process]:
        """Our daemon and its actors, wherever a bridge started them; empty for others."""
        if self.stack is None:
            return []
        mine = str(self.stack.runtime)
        found: list[psutil.Process] = []
        for one in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if one.environ().get("CHRYSALIS_RUNTIME_DIR") == mine:
                    found.append(one)
        return found

    def kill_all(self) -> None:
        """KILL everything of ours that serves this home."""
        found = self.daemon()
        for one in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(found, timeout=5)


@contextmanager
def home(server: MemoryServer) -> Generator[Home]:
    """A fresh directory, gone afterwards with everything that ran on it."""
    with tempfile.TemporaryDirectory(prefix="cz", ignore_cleanup_errors=True) as directory:
        made = Home(server, Path(directory))
        try:
            yield made
        finally:
            made.kill_all()


def _ms(started: float) -> float:
    return 1000 * (time.monotonic() - started)


def _start(server: MemoryServer, count: Count, repeats: int) -> dict[str, Any]:
    """From nothing: until the tools are listed, until a first fact is stored; and what the list costs in tokens."""
    listed: list[float] = []
    served: list[float] = []
    tokens = tools = 0
    for number in range(repeats):
        with home(server) as place:
            started = time.monotonic()
            with place.client() as client:
                shown = client.tools()
                listed.append(_ms(started))
                client.call(*server.store([(f"first{number}", "is", "a start")]))
                served.append(_ms(started))
        tokens, tools = count(shown), len(shown)
    return {
        "tokens": tokens,
        "tools": tools,
        "tools_listed_ms": round(statistics.median(listed)),
        "first_write_ms": round(statistics.median(served)),
    }


def _memory(server: MemoryServer) -> float:
    """Private memory with five clients that each stored and recalled something, daemon and what it loads included."""
    with home(server) as place, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(place.client()) for _ in range(CLIENTS)]
        for number, client in enumerate(clients):
            client.call(*server.store([(f"entity{number}", "is", "a thing")]))
            _answered(client, server.recall(f"entity{number}"))
        held, until = 0.0, time.monotonic() + SETTLE_MAX_S
        while (now := _held(place, clients)) > 1.01 * held and time.monotonic() < until:
            held = now
            time.sleep(SETTLE_S)
        return now


def _held(place: Home, clients: Sequence[PeerClient]) -> float:
    seen = {one.pid: one for client in clients for one in client.family()}
    seen |= {one.pid: one for one in place.daemon()}
    return private_mib(list(seen.values()))


def _load(client: PeerClient, server: MemoryServer, facts: Sequence[Triple]) -> bool:
    """Store facts in calls as large as they may be; False when the time was over before the end."""
    until = time.monotonic() + LOAD_MAX_S
    for at in range(0, len(facts), server.at_once):
        if time.monotonic() > until:
            return False
        client.call(*server.store(facts[at : at + server.at_once]))
    return True


def _timed(calls: Sequence[Callable[[], Any]]) -> tuple[float, list[Any]]:
    """Median milliseconds and the answers, of as many as the time allows."""
    until, times, answers = time.monotonic() + ASK_MAX_S, [], []
    for call in calls:
        started = time.monotonic()
        answers.append(call())
        times.append(_ms(started))
        if time.monotonic() > until:
            break
    return round(statistics.median(times), 2), answers


def _sizes(server: MemoryServer, sizes: Sequence[int], tell: Callable[[str], None]) -> dict[str, Any]:
    """Latencies at each size, and whether what was asked for is in the answer."""
    names, found, held = Names(SEED), {}, 0
    asked = two_hops(names, ASKED)
    with home(server) as place, place.client() as client:
        mine = [item.first for item in asked]
        for size in sizes:
            more = distractors(names, size - held - len(mine))
            tell(f"{server.name}: {size} facts")
            try:
                if not _load(client, server, [*mine, *more]):
                    found[str(size)] = {"not reached": f"storing took more than {LOAD_MAX_S:.0f} s"}
                    break
                found[str(size)] = _at_size(client, server, asked, names)
            except NoAnswer as error:
                found[str(size)] = {"not reached": str(error)}
                break
            held, mine = size, []
    return found


def _at_size(client: PeerClient, server: MemoryServer, asked: Sequence[Any], names: Names) -> dict[str, Any]:
    _answered(client, server.recall(asked[0].first[0]))
    new = [(names.one(), "was seen in", names.one()) for _ in range(ASKED)]
    write, _ = _timed([lambda fact=fact: client.call(*server.store([fact])) for fact in new])
    by_name, named = _timed([lambda i=i: client.call(*server.recall(i.first[0])) for i in asked])
    by_question, told = _timed([lambda i=i: client.call(*server.recall(i.question)) for i in asked])
    return {
        "write_p50_ms": write,
        "recall_p50_ms": by_name,
        "question_p50_ms": by_question,
        "found_by_name": [sum(i.first[2] in text for i, text in zip(asked, named, strict=False)), len(named)],
        "found_by_question": [sum(i.first[2] in text for i, text in zip(asked, told, strict=False)), len(told)],
    }


def _writer(client: PeerClient, server: MemoryServer, facts: Sequence[Triple], kept: list[Triple]) -> None:
    """Store one after the other; what was acknowledged is kept."""
    for fact in facts:
        try:
            client.call(*server.store([fact]), wait_s=20)
        except (NoAnswer, OSError, ValueError):
            return
        kept.append(fact)


def _missing(place: Home, facts: Sequence[Triple]) -> int:
    """How many facts a new client does not find by name."""
    with place.client() as client:
        missing = 0
        for fact in facts:
            missing += fact[2] not in _answered(client, place.server.recall(fact[0]))
        return missing


def _answered(client: PeerClient, call: Call) -> str:
    """The answer, asked for again while there is none in time: a busy server has lost nothing yet."""
    for _ in range(TRIES - 1):
        with contextlib.suppress(NoAnswer):
            return client.call(*call)
    return client.call(*call)


def _at_once(server: MemoryServer, clients: int, each: int) -> dict[str, int]:
    """Clients write at once; then another looks for everything that was acknowledged."""
    names = Names(SEED + 1)
    kept: list[Triple] = []
    with home(server) as place:
        with contextlib.ExitStack() as stack:
            writers: list[threading.Thread] = []
            for _ in range(clients):
                facts = [(names.one(), "met", names.one()) for _ in range(each)]
                client = stack.enter_context(place.client())
                writers.append(threading.Thread(target=_writer, args=(client, server, facts, kept)))
            for writer in writers:
                writer.start()
            for writer in writers:
                writer.join()
        return {"acknowledged": len(kept), "lost": _missing(place, kept)}


def _killed(server: MemoryServer, trials: int, each: int) -> dict[str, int]:
    """A writer whose server is killed at a random moment; then a new one looks for what was acknowledged."""
    names, rng, acknowledged, lost = Names(SEED + 2), random.Random(SEED), 0, 0
    for _ in range(trials):
        kept: list[Triple] = []
        with home(server) as place:
            client = place.client()
            client.initialize()
            facts = [(names.one(), "met", names.one()) for _ in range(each)]
            writer = threading.Thread(target=_writer, args=(client, server, facts, kept))
            writer.start()
            target = rng.randrange(3, each // 2)
            until = time.monotonic() + ASK_MAX_S
            while len(kept) < target and writer.is_alive() and time.monotonic() < until:
                writer.join(0.002)
            place.kill_all()
            client.kill()
            writer.join()
            acknowledged += len(kept)
            lost += _missing(place, kept)
    return {"kills": trials, "acknowledged": acknowledged, "lost": lost}


def measure(
    server: MemoryServer, count: Count, sizes: Sequence[int], tell: Callable[[str], None], *, quick: bool
) -> dict[str, Any]:
    """Everything of one server."""
    tell(f"{server.name}: start")
    figures: dict[str, Any] = {"version": server.version, **_start(server, count, 1 if quick else 3)}
    tell(f"{server.name}: {CLIENTS} clients")
    figures["private_mib_5_clients"] = _memory(server)
    figures["sizes"] = _sizes(server, sizes, tell)
    tell(f"{server.name}: two clients at once, then kill -9")
    each = 10 if quick else 50
    figures["one client alone"] = _at_once(server, 1, each)
    figures["two clients at once"] = _at_once(server, 2, each)
    figures["kill -9"] = _killed(server, 1 if quick else 3, 20 if quick else 60)
    return figures
