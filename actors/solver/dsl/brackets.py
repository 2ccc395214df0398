"""What lies between each pair of brackets, found in one pass, so that the parser never has to try and go back."""

from msgspec import Struct

from .faults import ExpressionError
from .tokens import Token

_PAIRS = {"(": ")", "[": "]", "{": "}"}


class Marks(Struct):
    """What was seen directly inside one bracket, not in the brackets within it."""

    close: int = -1
    commas: int = 0
    colon: bool = False
    bar: bool = False
    generator: bool = False
    binder_first: bool = False
    body_follows: bool = False
    questions: int = 0


class Brackets:
    """The pairs of one token list.

    Raises:
        ExpressionError: a bracket that is not closed, or closed by another kind.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._marks: dict[int, Marks] = {}
        stack: list[tuple[int, Token]] = []
        for place, token in enumerate(tokens):
            if token.kind != "op":
                continue
            if token.text in _PAIRS:
                self._marks[place] = Marks(binder_first=self._is_binder(place + 1))
                stack.append((place, token))
            elif token.text in _PAIRS.values():
                self._close(place, token, stack)
            elif stack:
                self._note(self._marks[stack[-1][0]], place, token)
        if stack:
            token = stack[-1][1]
            raise ExpressionError(
                f"{token.text!r} is not closed", column=token.column, fix=f"add {_PAIRS[token.text]!r}"
            )

    def marks(self, place: int) -> Marks:
        """What is inside the bracket that opens at token `place`."""
        return self._marks[place]

    def is_call(self, place: int, unless_followed_by: str) -> bool:
        """Whether the bracket at `place` holds several arguments rather than one condition."""
        marks = self._marks[place]
        return marks.commas > 0 and self._tokens[marks.close + 1].text != unless_followed_by

    def typed_binders(self, place: int) -> bool:
        """Whether the bracket at `place` begins as `[name:`, Logic-LM's way to bind."""
        return self._tokens[place + 1].kind == "name" and self._tokens[place + 2].text == ":"

    def _close(self, place: int, token: Token, stack: list[tuple[int, Token]]) -> None:
        if not stack:
            raise ExpressionError(
                f"{token.text!r} closes nothing", column=token.column, fix=f"remove {token.text!r} or open it before"
            )
        opened, opening = stack.pop()
        if _PAIRS[opening.text] != token.text:
            raise ExpressionError(
                f"{opening.text!r} of column {opening.column} is closed by {token.text!r}",
                column=token.column,
                fix=f"write {_PAIRS[opening.text]!r}",
            )
        marks = self._marks[opened]
        marks.close = place
        marks.body_follows = self._tokens[place + 1].text == "("

    def _note(self, marks: Marks, place: int, token: Token) -> None:
        match token.text:
            case ",":
                marks.commas += 1
            case "?":
                marks.questions += 1
            case ":":
                marks.colon = marks.colon or marks.questions == 0
                marks.questions = max(0, marks.questions - 1)
            case "for":
                marks.generator = True
            case "|" if self._is_binder(place + 1) and not marks.generator:
                marks.generator = marks.bar = True
            case _:
                pass

    def _is_binder(self, place: int) -> bool:
        """Whether `name, name in` begins at `place`."""
        while self._tokens[place].kind == "name":
            follower = self._tokens[place + 1]
            if follower.kind == "op" and follower.text == "in":
                return True
            if follower.text != ",":
                return False
            place += 2
        return False
