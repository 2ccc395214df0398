"""What the C library keeps of freed memory, given back."""

import ctypes
import sys


def trim() -> None:
    """Give memory that was freed, yet is kept for later, back to the system; where the C library cannot, nothing.

    After loading the default models that is 50 MB of 345, which would stay with an idle process for ever.
    """
    if sys.platform == "linux":
        give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if give_back is not None:
            give_back(0)
