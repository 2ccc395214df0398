"""Which embedder is in force: pair (the default), minilm, use, hash:N, static:PATH or openai:URL."""

from .base import Embedder, EmbedderError
from .endpoint import Endpoint
from .hashing import Hashing
from .minilm import MiniLM
from .multilingual import Multilingual
from .pair import Pair
from .static import Static

DEFAULT = "pair"


def load(choice: str) -> Embedder:
    """Load the embedder that a setting names; "" is the default. Takes a second or two.

    Raises:
        EmbedderError: unknown, not installed, or out of reach; the message says what to do.
    """
    name, _, argument = (choice or DEFAULT).partition(":")
    match name:
        case "pair":
            return Pair()
        case "minilm":
            return MiniLM()
        case "use":
            return Multilingual()
        case "static":
            return Static(argument)
        case "openai":
            return Endpoint(argument)
        case "hash":
            return Hashing(_dimension(argument))
        case _:
            raise EmbedderError(f"{choice!r} is no embedder; use pair, minilm, use, hash:N, static:PATH or openai:URL")


def _dimension(argument: str) -> int:
    if not argument:
        return 1024
    if not argument.isdecimal() or not 64 <= int(argument) <= 8192 or int(argument) % 8:  # noqa: PLR2004
        raise EmbedderError(f"hash:{argument} needs a dimension between 64 and 8192 that 8 divides")
    return int(argument)
