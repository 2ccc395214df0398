"""Freed memory goes back to the system."""

import psutil

from actors.memory.heap import trim


def test_what_was_freed_below_something_that_is_still_held_is_given_back():
    held = [bytearray(60_000) for _ in range(2_000)]  # each from the heap, too small for a mapping of its own
    above = held[-1]
    del held[:-1]
    before = psutil.Process().memory_info().rss
    trim()
    assert before - psutil.Process().memory_info().rss > 50_000_000
    assert len(above) == 60_000
