"""Answers put together from advice, profiles and calibrations. Pure: nothing here decides or keeps anything."""

from collections.abc import Sequence

import msgspec

from evidence.features import Features
from evidence.hints import Basis, basis, hint
from evidence.lookup import Advice
from evidence.profiles import Profile
from protocol import contract
from protocol.action import Outcome
from protocol.actions.advisory import (
    Advise,
    Advised,
    Advisory,
    Calibrated,
    CalibrationResult,
    Consulted,
    Handshaken,
    ProbeItem,
    ProfileView,
)
from protocol.errors import Fault

from .sitting import Sitting


def view(profile: Profile) -> ProfileView:
    """The profile as a client sees it."""
    model = profile.model
    return ProfileView(
        source=profile.source,
        kind=model.kind,
        model=model.name,
        family=model.family,
        params_b=model.params_b,
        thinking=model.thinking,
        context=profile.context,
        note=profile.note,
    )


def _notes(profile: Profile) -> tuple[str, ...]:
    return (profile.note,) if profile.note else ()


def shaken(profile: Profile, text: str, bases: Sequence[Basis]) -> Outcome:
    """The answer to a handshake: the hint with its figures, or silence and the way to be measured."""
    silent = f"Profile {profile.text}; nothing was measured that holds for it, so no advice."
    return Outcome(
        summary=f"Profile {profile.text}; {len(bases)} measured hints." if bases else silent,
        data=Handshaken(profile=view(profile), prompt_hint=text, rests_on=[msgspec.to_builtins(b) for b in bases]),
        notes=_notes(profile),
        next_action=None if bases else "Call meta.calibrate to have this model measured.",
    )


def advised(action: str, advice: Advice | None, profile: Profile, features: Features, advice_id: str) -> Outcome:
    """The answer about one action: level, hint and the figures behind them."""
    data = Advised(
        level=advice.level if advice else "neutral",
        hint=hint(advice) if advice else "",
        source=profile.source,
        profile=view(profile),
        features=msgspec.to_builtins(features),
        advice_id=advice_id,
        basis=msgspec.to_builtins(basis(advice)) if advice else None,
        reason=reason(advice, profile),
    )
    return Outcome(summary=data.hint or f"No advice on {action}: {data.reason}", data=data)


def everything(standing: Sequence[Advice], profile: Profile) -> Outcome:
    """The answer about no action in particular: all that was measured about the model."""
    lines = [{"hint": hint(a), **msgspec.to_builtins(basis(a))} for a in standing]
    data = Advised(level="neutral", hint="", source=profile.source, profile=view(profile), features={}, all=lines)
    speaking = sum(1 for line in lines if line["hint"])
    return Outcome(summary=f"{len(lines)} measurements about {profile.text}, {speaking} give advice.", data=data)


def consulted(advice: Advice | None, profile: Profile, advice_id: str) -> Consulted:
    """What rides on the reply of a real call; nothing when there is no hint."""
    if advice is None or not hint(advice):
        return Consulted()
    figures = basis(advice)
    source = "; ".join([f"profile {profile.source}", figures.source, *figures.caps])
    advisory = Advisory(level=advice.level, hint=hint(advice), source=source, advice_id=advice_id)
    return Consulted(advisory=advisory, discouraged=advice.level == "discouraged")


def reason(advice: Advice | None, profile: Profile) -> str:
    """Why the level is what it is, or why there is none."""
    if advice is not None:
        return "; ".join([advice.rule.why, *advice.caps])
    if profile.source == "default":
        return "this session's model is not known; call meta.handshake or meta.calibrate"
    return f"nothing was measured that holds for {profile.text} on such a task"


def asking(sitting: Sitting, now_ns: int) -> Outcome:
    """The open items, and how to answer them."""
    items = [ProbeItem(item.id, item.text) for item in sitting.pending]
    ids = ", ".join(item.id for item in items)
    return Outcome(
        summary=f"Answer {ids} by yourself, without any tool.",
        data=Calibrated(state="asking", items=items, asked=len(sitting.answered), expires_s=sitting.expires_s(now_ns)),
        next_action=f"Call meta.calibrate with step answer and your answers to {ids}.",
    )


def calibrated(found: CalibrationResult, profile: Profile, text: str) -> Outcome:
    """The answer at the end of a calibration, with the advice that now holds."""
    data = Calibrated(state="done", asked=found.asked, result=found, profile=view(profile), prompt_hint=text)
    return Outcome(summary=told(found), data=data, notes=_notes(profile))


def told(found: CalibrationResult) -> str:
    """What a calibration found, in one sentence."""
    parts = ", ".join(f"{family} {told}" for family, told in found.by_family.items())
    return f"{found.focus}: {found.verdict} after {found.asked} items ({parts}), confidence {found.confidence:.2f}."


def full_name(params: Advise) -> str:
    """The action asked about; the domain may be left out where the name is unique."""
    visible = [action.full_name for action in contract.visible()]
    asked = params.action if "." in params.action else f"{params.domain}.{params.action}"
    fitting = [name for name in visible if name == asked or (not params.domain and name.endswith(asked))]
    if len(fitting) == 1:
        return fitting[0]
    text = f"There is no {asked.lstrip('.')}."
    raise Fault("unknown_action", text, next_action=f"Ask about one of: {', '.join(visible)}.")
