"""The product's own calibration, answered by the model alone."""

from typing import Any, Final

from .conversation import SYSTEM
from .endpoint import Endpoint
from .product import Product

STEPS_MAX: Final = 20


def sit(endpoint: Endpoint, product: Product, session: str, max_tokens: int) -> dict[str, Any]:
    """One sitting: every item asked in a conversation of its own, no tool; the verdict with its figures."""
    state = _step(product, session, {"step": "start"})
    for _ in range(STEPS_MAX):
        if state["state"] == "done":
            return state["result"]
        answers = {item["id"]: _asked(endpoint, item["text"], max_tokens) for item in state["items"]}
        state = _step(product, session, {"step": "answer", "answers": answers})
    raise RuntimeError(f"calibration did not end in {STEPS_MAX} steps")


def _asked(endpoint: Endpoint, text: str, max_tokens: int) -> str:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
    return endpoint.chat(messages, max_tokens=max_tokens).text


def _step(product: Product, session: str, params: dict[str, Any]) -> dict[str, Any]:
    answer = product.call(
        {"domain": "meta", "action": "calibrate", "params": params, "session_id": session, "verbosity": "detail"}
    )
    if not answer.ok:
        raise RuntimeError(answer.text[:500])
    return answer.envelope["data"]
