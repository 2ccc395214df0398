"""Admission: may this model be loaded now? Every number of the decision is kept with its source.

Unified memory is one pool: what the GPU takes is taken from the same RAM, and a cgroup's limit does not see it.
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from protocol.actions.llm import Admission, Amount

from .estimate import MIB, Part, UnknownShape, need
from .gguf import Header
from .ledger import Error
from .machine import Gpu, Memory, Pressure
from .pressure import SHED_FULL
from .profiles import Profile

RESERVE_SHARE: Final = 12
RESERVE_MIN_BYTES: Final = 1 << 30
CTX_MIN: Final = 1024
MARGIN_SHARE: Final = 0.05
"""Kept on top of an estimate: the largest error seen on files measured here was 5.4 %."""


def reserve_bytes(profile: Profile, memory: Memory) -> int:
    """What stays free for everything else: a twelfth of the machine, at least 1 GiB, or what the profile says."""
    if profile.reserve_mib:
        return profile.reserve_mib * MIB
    return max(RESERVE_MIN_BYTES, memory.total // RESERVE_SHARE)


def have_bytes(profile: Profile, memory: Memory, gpus: Sequence[Gpu]) -> tuple[int, list[Amount]]:
    """The pool that a model may take from, and each number it comes from.

    A discrete GPU's memory counts only where the profile says so; otherwise the smaller of RAM and GPU counts.
    """
    reserve = reserve_bytes(profile, memory)
    amounts = [_amount("MemAvailable", memory.available, "/proc/meminfo"), _amount("reserve", -reserve, "profile")]
    have = memory.available - reserve
    if profile.on_gpu and gpus:
        gpu = max(gpus, key=lambda found: found.total)
        amounts.append(_amount(f"free on {gpu.name}", gpu.free, gpu.source))
        have = gpu.free if profile.memory == "discrete" else min(have, gpu.free)
    return have, amounts


def decide(
    profile: Profile,
    header: Header,
    memory: Memory,
    gpus: Sequence[Gpu],
    *,
    override: bool = False,
    past: Error | None = None,
    oracle: Sequence[Part] | None = None,
    mmproj_bytes: int = 0,
    pressure: Pressure | None = None,
) -> Admission:
    """The decision for one profile, with what would fit when it does not.

    `past` is what earlier loads of this file with these flags really took; `oracle` what llama-fit-params says,
    in place of the formulas; `mmproj_bytes` the size of the vision file; `pressure` what PSI says now: memory that
    is fought over is not free, whatever MemAvailable says.
    """
    try:
        parts = oracle or need(header, profile, mmproj_bytes=mmproj_bytes)
    except UnknownShape as unknown:
        return _undecided(profile, str(unknown), header, memory, override=override)
    wanted = _corrected(sum(part.bytes for part in parts), past)
    have, amounts = have_bytes(profile, memory, gpus)
    contended = pressure is not None and pressure.full >= SHED_FULL
    fits = wanted <= have and not contended
    offers = [] if wanted <= have else _offers(profile, header, have, mmproj_bytes)
    verdict: Literal["fits", "overridden", "refused"] = "fits" if fits else "overridden" if override else "refused"
    return Admission(
        profile=profile.name,
        model=profile.model,
        verdict=verdict,
        need_mib=_mib(wanted),
        have_mib=_mib(have),
        margin_mib=_mib(have - wanted),
        need=[_amount(part.name, part.bytes, part.source) for part in parts],
        have=amounts,
        reserve_mib=_mib(reserve_bytes(profile, memory)),
        past_error=past.text if past else "never loaded with these flags: 5 % is added",
        would_fit=offers,
        text=_words(profile, wanted, have, offers, fits=fits, contended=contended),
    )


def _corrected(estimate: int, past: Error | None) -> int:
    return round(estimate * past.ratio) if past else round(estimate * (1 + MARGIN_SHARE))


def _words(profile: Profile, wanted: int, have: int, offers: list[str], *, fits: bool, contended: bool) -> str:
    numbers = f"needs {_mib(wanted):.0f} MiB and {_mib(max(have, 0)):.0f} MiB may be taken"
    if fits:
        return f"{profile.name} fits: it {numbers}."
    if wanted <= have and contended:
        return f"{profile.name} would fit ({numbers}), but every task waits for memory just now."
    advice = f" What would fit: {'; '.join(offers)}." if offers else " No smaller context would fit either."
    return f"{profile.name} does not fit: it {numbers}.{advice}"


def _offers(profile: Profile, header: Header, have: int, mmproj_bytes: int) -> list[str]:
    """The largest context that would fit, with the caches as they are and with q8_0 ones."""
    found: list[str] = []
    cheap = msgspec.structs.replace(profile, cache_type_k="q8_0", cache_type_v="q8_0")
    lean = msgspec.structs.replace(profile, cache_ram_mib=0, ctx_checkpoints=0)
    for words, candidate in (("", profile), ("cache_type_k and _v = q8_0, ", cheap), ("cache_ram_mib = 0, ", lean)):
        ctx = _largest_ctx(candidate, header, have, mmproj_bytes)
        if ctx and (candidate is profile or ctx > (_largest_ctx(profile, header, have, mmproj_bytes) or 0)):
            found.append(f"{words}ctx = {ctx}")
    return found


def _largest_ctx(profile: Profile, header: Header, have: int, mmproj_bytes: int) -> int | None:
    """The largest multiple of 256 up to the profile's own context whose need is within `have`."""

    def fits(ctx: int) -> bool:
        parts = need(header, msgspec.structs.replace(profile, ctx=ctx), mmproj_bytes=mmproj_bytes)
        return _corrected(sum(part.bytes for part in parts), None) <= have

    low, high = CTX_MIN // 256, profile.ctx // 256
    if high < low or not fits(low * 256):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle * 256) else (low, middle - 1)
    return low * 256


def _undecided(profile: Profile, why: str, header: Header, memory: Memory, *, override: bool) -> Admission:
    have = memory.available - reserve_bytes(profile, memory)
    verdict: Literal["overridden", "unknown"] = "overridden" if override else "unknown"
    return Admission(
        profile=profile.name,
        model=profile.model,
        verdict=verdict,
        need_mib=_mib(header.tensor_bytes),
        have_mib=_mib(have),
        margin_mib=_mib(have - header.tensor_bytes),
        need=[_amount("weights", header.tensor_bytes, "tensor sizes in the GGUF header")],
        have=[_amount("MemAvailable", memory.available, "/proc/meminfo")],
        reserve_mib=_mib(reserve_bytes(profile, memory)),
        past_error="",
        would_fit=[],
        text=f"How much {profile.name} needs is not known: {why} Install llama-fit-params, or start with --override.",
    )


def _mib(count: int) -> float:
    return round(count / MIB, 1)


def _amount(name: str, count: int, source: str) -> Amount:
    return Amount(name=name, mib=_mib(count), source=source)
