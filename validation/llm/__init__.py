"""The model-in-the-loop harness: items, arms, one conversation each, grading, and pairs that become evidence."""
