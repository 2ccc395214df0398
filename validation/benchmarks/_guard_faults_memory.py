"""Faults of memory: models that do not fit, that grow, whose memory does not come back, and wrong estimates."""

from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from actors.guard import oracle, probe
from actors.guard.gathering import make_plan
from actors.guard.ledger import Load
from actors.guard.pressure import FLOOR_SHARE
from protocol.actions.llm import Admission

from ._guard_faults import expect, fault
from ._guard_rig import Rig

FLOOR_MIB = int(24_000 / 12 * FLOOR_SHARE)


async def _stopped_for_pressure(rig: Rig) -> str:
    await rig.true(lambda: rig.went_through("stopping", "backoff"), "stop for memory pressure")
    found = rig.server.life.last_exit
    expect(found and found.cause == "pressure", f"cause {found}")
    return next(step.why for step in rig.server.life.trail if step.state == "stopping")


@fault(9, "llama.cpp 27146", "GTT balloons during the load until the whole machine is out of memory", seconds=12)
async def gtt_balloons(directory: Path) -> str:
    rig = Rig(directory, {"load_s": 60}, gpu_layers="all", load_s=120)
    rig.memory(available_mib=6_000)
    rig.gpu(used_mib=500)
    async with rig.running() as server:
        await rig.start()
        await rig.until("loading")
        available, used = 6_000, 500
        while server.child is not None:
            available, used = available - 30, used + 30
            rig.memory(available_mib=available)
            rig.gpu(used_mib=used)
            expect(available > 0, "the machine is full")
            await anyio.sleep(0.05)
        rig.gpu(used_mib=500)
        expect(available > FLOOR_MIB, f"the floor was crossed: {available} MiB")
        return f"stopped with {available} MiB left (floor {FLOOR_MIB}): {await _stopped_for_pressure(rig)}"


@fault(10, "llama.cpp 24265", "prompt cache and checkpoints near the limit hang the machine", seconds=10)
async def grows_with_each_request(directory: Path) -> str:
    rig = Rig(directory, {"allocate_mb": 1})
    rig.memory(available_mib=2_400)
    async with rig.running() as server:
        await rig.start()
        await rig.until("ready")
        requests = 0
        while server.child is not None and server.life.state != "stopping":
            await probe.request(server.child.launch, "/completion", body={"prompt": "x", "n_predict": 1})
            requests += 1
            rig.memory(available_mib=2_400 - 32 * requests)
            expect(requests < 40, "the machine is full")
            await anyio.sleep(0.1)
        left = 2_400 - 32 * requests
        expect(left > FLOOR_MIB, f"the floor was crossed: {left} MiB")
        return f"stopped after {requests} requests with {left} MiB left: {await _stopped_for_pressure(rig)}"


@fault(11, "llama.cpp 21690, 20509", "one allocation far above the cap, then the OOM killer", seconds=4)
async def outgrows_its_admission(directory: Path) -> str:
    rig = Rig(directory, {"allocate_mb": 250})
    async with rig.running() as server:
        await rig.start()
        await rig.until("ready")
        assert server.child is not None
        await probe.request(server.child.launch, "/completion", body={"prompt": "x", "n_predict": 1})
        return await _stopped_for_pressure(rig)


async def _plan(rig: Rig) -> Admission:
    def plan() -> Admission:
        with rig.environment():
            return make_plan(rig.profile, rig.machine, rig.ledger, "x").admission

    return await anyio.to_thread.run_sync(plan)


@fault(12, "ollama 18264; home-ops 13936", "8 GiB of prompt cache that nobody counted", seconds=1)
async def prompt_cache_is_counted(directory: Path) -> str:
    rig = Rig(directory, cache_ram_mib=8192)
    rig.memory(available_mib=8_000)
    admission = await _plan(rig)
    expect(admission.verdict == "refused", admission.text)
    expect(any("cache_ram_mib" in offer for offer in admission.would_fit), f"offers {admission.would_fit}")
    return admission.text


@fault(21, "lms 499", "the estimate is twice what is used, and there is no override", seconds=4)
async def wrong_estimate_can_be_overridden(directory: Path) -> str:
    rig = Rig(directory)
    rig.memory(available_mib=2_200)
    async with rig.running() as server:
        plan = await server.plan(rig.profile)
        expect(plan.admission.verdict == "fits", plan.admission.text)
        rig.ledger.add(Load(key=plan.ledger_key, estimated=100, measured=200))
        await rig.start()
        await rig.until("stopped")
        refusal = server.life.admission
        expect(refusal and refusal.verdict == "refused", "not refused")
        expect(refusal and "200 %" in refusal.past_error, "the past error is not told")
        await rig.start(override=True)
        await rig.until("ready")
        return f"{refusal.text if refusal else ''} Overridden: ready"


@fault(22, "llama.cpp 21801, 22592, 24626", "the fit tool is wrong, silent, slow or dead", seconds=4)
async def oracle_is_not_trusted(directory: Path) -> str:
    rig = Rig(directory)
    formula = await _plan(rig)
    stub, seen = directory / "llama-fit-params", list[str]()
    wait_s, oracle.ORACLE_MAX_S = oracle.ORACLE_MAX_S, 0.5
    try:
        for body in ("exit 1", "echo", "echo CPU0 -5 2 3", "echo Host 0 0 0", "sleep 60 >&- 2>&- & wait", "kill -6 $$"):
            stub.write_text(f"#!/bin/sh\n{body}\n")
            stub.chmod(0o755)
            admission = await _plan(rig)
            expect(admission.need_mib == formula.need_mib, f"{body}: {admission.need_mib} MiB")
            expect("formulas were used" in admission.text, f"{body}: {admission.text}")
            seen.append(body)
        stub.write_text("#!/bin/sh\necho Vulkan0 8 3 2\necho Host 1 0 1\n")
        good = await _plan(rig)
    finally:
        oracle.ORACLE_MAX_S = wait_s
    expect(any(part.source == "llama-fit-params" for part in good.need), "a good answer was not used")
    return f"{len(seen)} kinds of bad answers fell back to the formulas; a good one was used"


@fault(23, "ollama 12692, 9791, 16830", "killed for memory again and again", seconds=6)
async def oom_kills_in_a_row(directory: Path) -> str:
    rig = Rig(directory, {"signal": 9, "exit_after_s": 0.3})
    async with rig.running() as server:
        await rig.start()
        spawned: set[int] = set()
        while server.life.state != "fatal":
            if server.child and server.child.pid not in spawned:
                spawned.add(server.child.pid)
                rig.oom_kill()
            expect(len(spawned) < 5, f"restarted for ever: {rig.trail()}")
            await anyio.sleep(0.02)
        found = server.life.last_exit
        expect(found and found.cause == "out_of_memory", f"cause {found}")
        return f"given up after {len(spawned)} starts: {server.life.why[:50]}; {found.next_action if found else ''}"


@fault(25, "halogen-flash-server 79, 85", "a kill leaks GTT until reboot, and restarts pile up", seconds=19)
async def gtt_does_not_return(directory: Path) -> str:
    rig = Rig(directory, gpu_layers="all")
    rig.gpu(used_mib=500)
    async with rig.running() as server:
        await rig.start()
        await rig.until("ready")
        rig.gpu(used_mib=5_000)
        assert server.child is not None
        server.child.send(9)
        await rig.until("wedged", wait_s=25)
        words, starts = server.life.why, server.life.restarts
        await rig.start()
        expect(server.life.state == "wedged", "a start while wedged was let through")
        expect(starts == server.life.restarts == 0, "restarted into leaked memory")
        rig.gpu(used_mib=500)
        await rig.until("ready")
        return f"wedged ({words}); start refused; left when the memory was back"


@fault(26, "llama.cpp 24330", "each start and stop raises the floor of GPU memory", seconds=8)
async def floor_rises(directory: Path) -> str:
    rig = Rig(directory, gpu_layers="all")
    async with rig.running() as server:
        for run in range(5):
            rig.gpu(used_mib=500 + 200 * run)
            await rig.start()
            await rig.until("ready")
            await rig.stop()
            await rig.until("stopped")
        expect(server.warnings, "no warning")
        return server.warnings[0]


@fault(29, "LifeOS 50", "an embedder loads while the model holds most of unified memory", seconds=4)
async def two_in_one_pool(directory: Path) -> str:
    rig = Rig(directory, gpu_layers="all")
    rig.gpu(used_mib=500, total_mib=20_000)
    rig.memory(available_mib=2_050)
    async with rig.running() as server:
        await rig.start()
        await rig.until("stopped")
        refused = server.life.admission
        expect(refused and refused.verdict == "refused", f"{refused}")
        rig.memory(available_mib=16_000)
        rig.gpu(used_mib=20_400, total_mib=20_000)
        await server.ask(lambda life, now: life.start(msgspec.structs.replace(rig.profile), now))
        await rig.until("stopped")
        again = server.life.admission
        expect(again and again.verdict == "refused", f"a full GPU was overlooked: {again}")
        return f"refused for RAM ({refused.text if refused else ''}) and for the GPU's share"
