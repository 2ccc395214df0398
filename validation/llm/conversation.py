"""One item in one arm: the turns with the model, the calls through the product, the answer.

Tools are offered until an answer names nothing more to do, or the cap is reached; the answer turn has none, since small
models call on for ever, and only it asks for a form, since a reminder of a form keeps small models from calling at all.
"""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from validation.benchmarks._h_words import sentence

from .calls import calls
from .endpoint import Endpoint, Reply
from .grading import grade
from .items import Item
from .plan import Plan
from .product import Product

Mode = Literal["native", "forced"]
SYSTEM: Final = "You answer questions about people, things and puzzles."
FORM: Final = "Give the answer alone on the last line, after ANSWER:"
THINK: Final = "Think step by step first. "
CHARS_PER_TOKEN: Final = 2.5
"""Of sentences with invented names, low on purpose: what is said to fit must fit."""
USE: Final = {
    "memory": "The facts are in your memory. Look them up with the tool before you answer: domain memory, "
    'action recall, params {"query": the question in your words}.',
    "solver": "Solve it with the tool: domain reason, action solve, params with vars and constraints, for example "
    '{"vars": {"ann": "int 1..3", "bob": "int 1..3"}, "constraints": ["all_different(ann, bob)", "ann < bob"]}.',
}
SCHEMAS: Final[Mapping[str, dict[str, Any]]] = {
    "memory": {
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
        "additionalProperties": False,
    },
    "solver": {
        "type": "object",
        "properties": {
            "vars": {"type": "object", "additionalProperties": {"type": "string"}},
            "constraints": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["vars", "constraints"],
        "additionalProperties": False,
    },
}
CHOICE: Final = {
    "type": "object",
    "properties": {"use_tool": {"type": "boolean"}},
    "required": ["use_tool"],
    "additionalProperties": False,
}
ACTIONS: Final = {"memory": ("memory", "recall"), "solver": ("reason", "solve")}


class Trial(Struct, kw_only=True):
    """One item in one arm, with everything that was said."""

    group: str
    item: str
    arm: str
    thinking: bool
    gold: str
    given: str = ""
    right: bool = False
    readable: bool = False
    native: int = 0
    printed: int = 0
    served: int = 0
    refused: int = 0
    timeouts: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    ms: float = 0.0
    hint: str = ""
    turns: list[dict[str, Any]] = []


class Conversation:
    """What does not change from item to item.

    Args:
        mode: "native" offers the tool; "forced" has the arguments written under a schema, for models too small to call.
        facts: what the context arm is given, as much of it as fits into `window` tokens.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        product: Product,
        plan: Plan,
        *,
        mode: Mode,
        facts: Sequence[Sequence[str]],
        window: int,
    ) -> None:
        self._endpoint, self._product, self._plan, self._mode = endpoint, product, plan, mode
        room = int(window * plan.fit_share * CHARS_PER_TOKEN)
        self._context = ""
        self.fitted = 0
        for fact in facts:
            line = f"- {sentence(fact)}\n"
            if len(self._context) + len(line) > room:
                break
            self._context += line
            self.fitted += 1

    def hold(self, trial: Trial, item: Item) -> Trial:
        """The whole conversation of one trial."""
        started = time.monotonic()
        text = self._final(trial, item, self._found(trial, item))
        graded = grade(text, item.gold)
        trial.given, trial.right, trial.readable = graded.given, graded.right, graded.readable
        trial.ms = round(1000 * (time.monotonic() - started), 1)
        return trial

    def _found(self, trial: Trial, item: Item) -> str:
        """What stands before the question in the answer turn."""
        tool = "solver" if item.kind == "puzzle" else "memory"
        match trial.arm:
            case "alone" | "never":
                return ""
            case "context":
                return f"Facts:\n{self._context}\n"
            case "memory" | "solver" | "always":
                return self._used(trial, item, tool, USE[tool])
            case "untaught":
                return self._used(trial, item, tool, USE[tool], more={"lambda": 0})
            case _:  # own, generic, advised, sham: the model decides
                return self._used(trial, item, tool, trial.hint) if self._decides(trial, item, tool) else ""

    def _decides(self, trial: Trial, item: Item, tool: str) -> bool:
        """Whether it wants the tool; by native calls that shows in whether it calls."""
        if self._mode == "native":
            return True
        domain, action = ACTIONS[tool]
        about = f"You may use a tool: {domain}.{action} solves constraints exactly, and costs a call. {trial.hint}"
        reply = self._say(trial, f"{about.strip()}\n\n{item.question}\n\nDo you use the tool?", 20, schema=CHOICE)
        return '"use_tool": true' in reply.text or '"use_tool":true' in reply.text

    def _used(self, trial: Trial, item: Item, tool: str, words: str, more: Mapping[str, Any] | None = None) -> str:
        """Calls until an answer asks for nothing more or the cap is reached; the last answer as text."""
        told = ""
        for _ in range(self._plan.max_calls):
            arguments = self._arguments(trial, item, tool, words, told)
            if arguments is None:
                break
            if more:
                arguments = {**arguments, "params": {**_params(arguments), **more}}
            answer = self._product.call({"verbosity": self._plan.verbosity, **arguments})
            trial.turns.append({"call": arguments, "answer": answer.text})
            sent = json.dumps(arguments, ensure_ascii=False)
            told = f"You called the tool with {sent} and it answered:\n{answer.text}\n\n"
            if answer.ok:
                trial.served += 1
            else:
                trial.refused += 1
            if answer.ok and not answer.envelope.get("next_action"):
                break
        return told

    def _arguments(self, trial: Trial, item: Item, tool: str, words: str, told: str) -> dict[str, Any] | None:
        """The arguments of the next call; None when the model makes none."""
        text = f"{words}\n\n{told}{item.question}".strip()
        if self._mode == "forced":
            reply = self._say(trial, text, self._plan.call_tokens, schema=SCHEMAS[tool])
            domain, action = ACTIONS[tool]
            try:
                return {"domain": domain, "action": action, "params": json.loads(reply.text)}
            except json.JSONDecodeError:
                return None
        reply = self._say(trial, text, self._plan.call_tokens, tools=[self._product.tool])
        made = calls(reply)
        trial.native += sum(call.form == "native" for call in made)
        trial.printed += sum(call.form == "printed" for call in made)
        return made[0].arguments if made else None

    def _final(self, trial: Trial, item: Item, found: str) -> str:
        ask = f"{THINK if trial.thinking else ''}{FORM}"
        tokens = self._plan.thinking_tokens if trial.thinking else self._plan.answer_tokens
        return self._say(trial, f"{found}{item.question}\n\n{ask}", tokens).text

    def _say(self, trial: Trial, text: str, max_tokens: int, **options: Any) -> Reply:
        """One turn of its own; everything the model must know is in it."""
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
        reply = self._endpoint.chat(messages, max_tokens=max_tokens, thinking=trial.thinking, **options)
        trial.prompt_tokens += reply.prompt_tokens
        trial.reply_tokens += reply.reply_tokens
        trial.timeouts += reply.timed_out
        said = {"user": text, "text": reply.text, "offered": sorted(options)}
        trial.turns.append({**said, "native": reply.native, "reasoning": reply.reasoning, "cut": reply.cut})
        return reply


def _params(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The params of a call, also where they were sent as text."""
    params = arguments.get("params", {})
    if isinstance(params, str):
        try:
            params = json.loads(params)
        except json.JSONDecodeError:
            return {}
    return params if isinstance(params, dict) else {}
