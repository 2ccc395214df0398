"""What a session's state becomes by what its client declares or a calibration shows. Pure."""

import msgspec

from evidence.profiles import complete
from evidence.records import Model
from protocol.actions.advisory import Handshake

from .calibration import VALID_DAYS, class_found, context_found, sprt
from .sitting import Sitting
from .store import Measured, SessionState


def declared_model(params: Handshake) -> Model | None:
    """The model that a handshake declares, filled up from the class table; None when it declares none."""
    model = Model(
        name=params.model,
        family=params.family,
        params_b=params.params_b,
        active_params_b=params.active_params_b,
        quantisation=params.quantisation,
        thinking=params.thinking,
    )
    return None if model == Model() else complete(model)


def learned(state: SessionState, sitting: Sitting, now_ns: int) -> SessionState:
    """The session's state with what a finished calibration showed; an unsure one changes nothing."""
    answered = sitting.answered
    if sitting.focus == "class":
        kind, confidence = class_found(answered)
        expires_ns = now_ns + VALID_DAYS * 86_400 * 10**9
        found = Measured(kind=kind, confidence=confidence, asked=len(answered), expires_ns=expires_ns)
        return state if kind == "unknown" else msgspec.structs.replace(state, measured=found)
    if sitting.focus == "recall":
        return msgspec.structs.replace(state, measured_context=context_found(answered))
    verdict = {"yes": True, "no": False, "": None}[sprt(sitting.focus, answered)]
    return msgspec.structs.replace(state, **{sitting.focus: verdict})
