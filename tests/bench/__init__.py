"""The offline benchmarks as tests: each fails only when a goal of its own is missed."""
