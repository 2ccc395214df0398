"""How soon a stalled decoder is found, and whether slow decoding and long prefill ever raise a false alarm."""

import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio

from actors.guard.profiles import Profile
from actors.guard.server import LOOK_S
from actors.guard.watch import Observation, Patience, Watch
from validation.result import Goal, Measured
from validation.run import Context

from ._guard_rig import Rig

SEED = 20261130
FOUND_S = 15.0
KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "sleeps behind a green health": ({"stall": "sleep"}, "0"),
    "sleeps, and slots never answer": ({"stall": "sleep", "slots": "silent", "burn": True}, "0"),
    "spins on a lost GPU": ({"stall": "spin"}, "all"),
    "sleeps on a GPU profile": ({"stall": "sleep"}, "all"),
}


def run(context: Context) -> Measured:
    """Real stalls at the default patience, five minutes of real slowness, an hour of simulated slowness."""
    found = {kind: anyio.run(_stall, kind) for kind in (list(KINDS)[:1] if context.quick else KINDS)}
    for kind, seconds in found.items():
        context.progress(f"{kind}: found after {seconds:.1f} s")
    slow_s = 20.0 if context.quick else 300.0
    alarms = anyio.run(_slow_for, slow_s)
    context.progress(f"{slow_s:.0f} s of slow decoding and long prefill: {alarms['alarms']} alarms")
    simulated = [_simulated_hour(SEED + n) for n in range(2 if context.quick else 20)]
    worst = max(found.values())
    simulated_alarms = sum(hour["alarms"] for hour in simulated)
    return Measured(
        headline=f"guard watch: stalls found in at most {worst:.1f} s; {alarms['alarms']} false alarms in "
        f"{slow_s / 60:.1f} real and {simulated_alarms} in {60 * len(simulated)} simulated minutes of slowness",
        figures={
            "found_s": found,
            "real": alarms,
            "simulated_hours": len(simulated),
            "simulated_alarms": simulated_alarms,
            "simulated_looks": sum(hour["looks"] for hour in simulated),
            "simulated_median_tokens_per_s": statistics.median(hour["tokens_per_s"] for hour in simulated),
        },
        goals=[
            Goal("a stalled decoder is found", f"<= {FOUND_S:.0f} s", round(worst, 1), worst <= FOUND_S),
            Goal("false alarms in real slowness", "0", alarms["alarms"], alarms["alarms"] == 0),
            Goal("false alarms in simulated hours", "0", simulated_alarms, simulated_alarms == 0),
        ],
        n=len(found) + len(simulated),
        seed=SEED,
    )


async def _stall(kind: str) -> float:
    """Seconds from the last token to the verdict, with the patience that is the default."""
    how, layers = KINDS[kind]
    with tempfile.TemporaryDirectory() as directory:
        full = {"serve": 1000, "token_s": 0.1, "stall_after": 60} | how
        rig = Rig(Path(directory), full, gpu_layers=layers, stall_s=Profile().stall_s)
        rig.gpu(used_mib=0)
        async with rig.running() as server:
            server.look_s = LOOK_S
            await rig.start()
            await rig.until("busy", "ready")
            await rig.true(lambda: "stalled" in server.log.tail(9), "stall")
            started = time.monotonic()
            await rig.until("stopping", "backoff", wait_s=40)
            return time.monotonic() - started


async def _slow_for(seconds: float) -> dict[str, Any]:
    """A real server that decodes at 0.4 tokens/s after a long silent prefill, watched with the defaults."""
    with tempfile.TemporaryDirectory() as directory:
        how = {"serve": 100_000, "prefill_s": seconds / 3, "token_s": 2.5}
        rig = Rig(Path(directory), how, stall_s=Profile().stall_s)
        async with rig.running() as server:
            server.look_s = LOOK_S
            await rig.start()
            await rig.until("ready", "busy")
            await anyio.sleep(seconds)
            states = [step.state for step in server.life.trail]
            rate = server.attention.watch.tokens_per_s if server.attention else None
            bad = sum(state in {"stuck", "stopping", "fatal"} for state in states)
            return {"seconds": seconds, "alarms": bad, "states": sorted(set(states)), "tokens_per_s": rate}


def _simulated_hour(seed: int) -> dict[str, Any]:
    """An hour of the policy on a simulated clock: starved cores, 2 to 9 s a token, prefills of 1 to 15 minutes."""
    chance, watch, now, cpu_s = random.Random(seed), Watch(Patience(on_gpu=False), 0.0), 0.0, 0.0
    counter, alarms, looks, tokens = 0, 0, 0, 0

    def look(decoded: int) -> None:
        nonlocal now, cpu_s, alarms, looks
        now, cpu_s, looks = now + 1, cpu_s + chance.uniform(0.15, 2.0), looks + 1
        seen = Observation(at=now, cpu_s=cpu_s, busy=True, counter=counter, decoded=decoded)
        alarms += watch.judge(seen).verdict in {"stuck", "foreign"}

    watch.judge(Observation(at=0.5, health=200, busy=False, counter=0))
    while now < 3_600:
        for _ in range(chance.randint(60, 900)):
            look(0)
        for token in range(1, chance.randint(20, 60)):
            counter, tokens = counter + 1, tokens + 1
            for _ in range(chance.randint(2, 9)):
                look(token)
    return {"alarms": alarms, "looks": looks, "tokens_per_s": tokens / now}
