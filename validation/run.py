"""`python -m validation.run NAME [--quick]`: run one benchmark, write its result file, print its figure last.

A benchmark is a module in `validation/benchmarks/` named as it is called, with a one-line docstring and
`run(context) -> Measured`. Exit 0 only when every goal it carries is met; 1 when one is not; 2 when its
data are missing or the name is unknown.
"""

import argparse
import importlib
import pkgutil
import sys
import time

from validation import benchmarks
from validation.result import Measured, MissingData, write


class Context:
    """What a benchmark is given: whether to be quick, and where to tell its progress."""

    def __init__(self, *, quick: bool) -> None:
        self.quick = quick
        self._started = time.monotonic()

    def progress(self, text: str) -> None:
        """Tell on stderr how far it is."""
        print(f"[{time.monotonic() - self._started:6.1f} s] {text}", file=sys.stderr, flush=True)


def names() -> list[str]:
    """Every benchmark there is."""
    return sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.name.startswith("_"))


def describe(name: str) -> str:
    """The benchmark's first docstring line."""
    return (importlib.import_module(f"validation.benchmarks.{name}").__doc__ or "").strip().splitlines()[0]


def report(measured: Measured) -> None:
    """Print the goals and, last, the headline."""
    for goal in measured.goals:
        print(f"{'met   ' if goal.met else 'MISSED'}  {goal.name}: {goal.measured} (wanted {goal.wanted})")
    print(measured.headline)


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m validation.run", description="Run one benchmark.")
    parser.add_argument("name", nargs="?", help="see --list")
    parser.add_argument("--quick", action="store_true", help="a part in under a minute, marked so in the file")
    parser.add_argument("--list", action="store_true", help="name them all")
    options = parser.parse_args(argv)
    if options.list or options.name not in names():
        for name in names():
            print(f"{name:16} {describe(name)}")
        return 0 if options.list else 2
    started = time.monotonic()
    try:
        measured = importlib.import_module(f"validation.benchmarks.{options.name}").run(Context(quick=options.quick))
    except MissingData as missing:
        print(f"left out: {missing}", file=sys.stderr)
        return 2
    path = write(options.name, measured, quick=options.quick, seconds=time.monotonic() - started)
    print(f"written: {path.relative_to(path.parents[2])}", file=sys.stderr)
    report(measured)
    return 0 if all(goal.met for goal in measured.goals) else 1


if __name__ == "__main__":
    sys.exit(main())
