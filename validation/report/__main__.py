"""`python -m validation.report [--check]`: docs/results.md, docs/results.html and the README's table from the results.

`--check` writes nothing and exits 1 when one of them is not what the files give, or a file was edited by hand.
"""

import argparse
import sys
from pathlib import Path

from validation import claims
from validation.result import ROOT

from . import files, html, markdown, verdicts

START, END = "<!-- results -->", "<!-- /results -->"


def within(text: str, generated: str) -> str:
    """A document with what stands between the markers replaced.

    Raises:
        ValueError: when the markers are not there.
    """
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise ValueError(f"README.md lacks {START} and {END}")
    return f"{before}{START}\n{generated}\n{END}{after}"


def pages(root: Path = ROOT) -> dict[Path, str]:
    """Every generated document with its text."""
    results = files.load()
    rows, promises = verdicts.rows(claims.load(), results), verdicts.promises(results)
    readme = root / "README.md"
    return {
        root / "docs" / "results.md": markdown.page(rows, promises, results),
        root / "docs" / "results.html": html.page(rows, promises, results),
        readme: within(readme.read_text(encoding="utf-8"), markdown.readme(rows, promises, results)),
    }


def main(argv: list[str] | None = None) -> int:
    """Write or check, as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m validation.report", description="Make the report.")
    parser.add_argument("--check", action="store_true", help="only compare")
    options = parser.parse_args(argv)
    edited = [one.source for one in files.load().values() if one.seal == "edited"]
    if edited:
        print(f"edited by hand, so not reported: {', '.join(edited)}; run those benchmarks again", file=sys.stderr)
        return 1
    made = pages()
    stale = [path.name for path, text in made.items() if not path.exists() or path.read_text("utf-8") != text]
    if not options.check:
        for path, text in made.items():
            path.write_text(text, encoding="utf-8")
        print(f"written: {', '.join(stale) or 'nothing new'}")
        return 0
    if stale:
        print(f"not what the results give: {', '.join(stale)}; run python -m validation.report", file=sys.stderr)
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
