"""What is advised to whom: profiles by precedence, rules near a profile, the daemon-wide texts. No effects."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from evidence.features import Features, extract
from evidence.hints import Basis, instructions, prompt_hint, slot
from evidence.lookup import Advice, about_model, as_task, choose
from evidence.profiles import Profile, resolve
from evidence.records import Model
from evidence.rules import Rule
from protocol.actions.advisory import SlotText

from .store import SessionState

NEAR_CACHE_MAX = 256


class Advisor:
    """The rules in force and the forced profile; answers are the same for the same session state and day."""

    def __init__(
        self, rules: Sequence[Rule], forced: Model | None, capabilities: Mapping[str, str], *, readonly: bool = False
    ) -> None:
        self.rules = tuple(rules)
        self.forced = forced
        self._capabilities = capabilities
        self._readonly = readonly
        self._near: dict[tuple[Profile, date], list[tuple[int, Advice]]] = {}

    def profile(self, state: SessionState, now_ns: int) -> Profile:
        """The profile in force for a session: forced > calibrated > declared > default."""
        measured = state.measured
        kind = measured.kind if measured and now_ns < measured.expires_ns else None
        return resolve(self.forced, kind, state.declared, _context(state))

    def near(self, profile: Profile, today: date) -> list[tuple[int, Advice]]:
        """Every rule about models like this one, nearest first."""
        key = (profile, today)
        near = self._near.get(key)  # asked from the loop and from the lane: never read twice
        if near is None:
            if len(self._near) >= NEAR_CACHE_MAX:
                self._near.clear()
            near = self._near[key] = about_model(self.rules, profile, today, self._capabilities)
        return near

    def advise(self, profile: Profile, action: str, features: Features, today: date) -> Advice | None:
        """The advice for one action on one task; None when nothing measured applies."""
        return choose(self.near(profile, today), action, as_task(features))

    def features(self, action: str, params: Mapping[str, Any], profile: Profile, facts_tokens: int) -> Features:
        """The task's features, given the session's context and how much there is to know."""
        return extract(action, params, context=profile.context, facts_tokens=facts_tokens)

    def standing(self, profile: Profile, today: date) -> list[Advice]:
        """The advice for each kind of task that was measured: the nearest rule for every cell."""
        near = self.near(profile, today)
        cells = list(dict.fromkeys((a.rule.action, a.rule.cell) for _, a in near))
        chosen = [choose(near, action, lambda cell, wanted=cell: cell == wanted) for action, cell in cells]
        return [advice for advice in chosen if advice is not None]

    def prompt_hint(self, profile: Profile, today: date) -> tuple[str, tuple[Basis, ...]]:
        """The hint for a system prompt, and the figures under each sentence; ("", ()) without evidence."""
        return prompt_hint(self.standing(profile, today))

    def slot(self, today: date) -> SlotText:
        """The daemon-wide texts: they depend on the forced profile and the evidence, never on a session."""
        profile = resolve(self.forced, None, None)
        nobody = self._readonly and self.forced is None  # nobody can shake hands where writes are off
        if nobody or not any(rule.contrast == "use" and rule.level != "neutral" for rule in self.rules):
            return SlotText(slot="", instructions="", profile=profile.text)
        advices = self.standing(profile, today)
        return SlotText(slot=slot(profile, advices), instructions=instructions(profile, advices), profile=profile.text)


def _context(state: SessionState) -> int:
    """The context that counts: the declared one, or less when a calibration saw facts fall out of it."""
    known = [c for c in (state.context, state.measured_context) if c]
    return min(known, default=0)
