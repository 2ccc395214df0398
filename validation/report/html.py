"""One page that needs nothing beside it: the plots, the verdicts, the goals and where they were measured."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from . import beside, svg
from .files import Result
from .markdown import number, short
from .verdicts import Promise, Row

STYLE = """
:root{color-scheme:light dark;--ink:#1c2430;--soft:#5b6675;--page:#fbfbf9;--rule:#d9dde3;--good:#1b7f5a;--bad:#b3372f;
--open:#b07a10;--s0:#2459a8;--s1:#b3572f;--s2:#3d8a5f;--s3:#8a4a9c;--s4:#77702a;--theirs:#9aa5b4}
@media(prefers-color-scheme:dark){:root{--ink:#e7eaee;--soft:#a3adba;--page:#15191f;--rule:#333b46;--good:#58c297;
--bad:#ee8379;--open:#dfb04e;--s0:#7fb0f5;--s1:#eb9a76;--s2:#7fcf9f;--s3:#cb95dc;--s4:#c7bd69;--theirs:#5f6b7a}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:64rem;margin:0 auto;
padding:2rem 1rem 4rem}
h1{font-size:1.9rem;margin:0 0 .3rem}h2{font-size:1.25rem;margin:2.6rem 0 .6rem}
p,figcaption{color:var(--soft);max-width:46rem}figure{margin:1rem 0 2rem}svg{width:100%;height:auto}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.4rem .7rem .4rem 0;border-bottom:1px solid var(--rule);vertical-align:top}
th{color:var(--soft);font-weight:600}code{font-size:.85em}
.supported,.met{color:var(--good)}.not,.missed{color:var(--bad)}.undecided{color:var(--open)}td.v{font-weight:600}
svg text{font:13px system-ui,sans-serif;fill:var(--ink)}svg .axis{fill:var(--soft);font-size:12px}
.zero{stroke:var(--soft);stroke-dasharray:4 4}.grid{stroke:var(--rule)}.interval{stroke-width:3;stroke-linecap:round}
.interval.supported{stroke:var(--good)}.interval.not{stroke:var(--bad)}.interval.undecided{stroke:var(--open)}
circle.supported{fill:var(--good)}circle.not{fill:var(--bad)}circle.undecided{fill:var(--open)}
.claimed{fill:none;stroke:var(--soft);stroke-width:1.5}.curve{fill:none;stroke-width:2}
.s0{stroke:var(--s0)}.s1{stroke:var(--s1)}.s2{stroke:var(--s2)}.s3{stroke:var(--s3)}.s4{stroke:var(--s4)}
circle.s0,svg text.s0{fill:var(--s0)}circle.s1,svg text.s1{fill:var(--s1)}circle.s2,svg text.s2{fill:var(--s2)}
circle.s3,svg text.s3{fill:var(--s3)}circle.s4,svg text.s4{fill:var(--s4)}svg text.name{stroke:none;font-weight:600}
.ours{fill:var(--s0)}.theirs{fill:var(--theirs)}
"""


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """An HTML table of ready cells."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(line) + "</tr>" for line in lines)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: str, kind: str = "") -> str:
    return f'<td class="{kind}">{escape(value)}</td>' if kind else f"<td>{escape(value)}</td>"


def _hypotheses(rows: Sequence[Row]) -> str:
    lines = [
        [
            _cell(one.id),
            _cell(one.says),
            _cell(f"{number(one.measured)} {one.unit}" if one.source else "not measured"),
            _cell(str(one.n or "")),
            _cell(f"{number(one.low)} to {number(one.high)}" if one.source else ""),
            _cell(number(one.claimed)),
            _cell(one.verdict, "v " + one.verdict.split()[0]),
        ]
        for one in rows
    ]
    return table(("", "claim", "measured", "n", "95 % interval", "claimed", "verdict"), lines)


def _goals(promises: Sequence[Promise]) -> str:
    lines = [
        [
            _cell("met" if one.met else "missed", "v " + ("met" if one.met else "missed")),
            _cell(one.name),
            _cell(one.wanted),
            _cell(short(one.measured)),
            _cell(one.source),
        ]
        for one in sorted(promises, key=lambda one: one.met)
    ]
    return table(("", "goal", "wanted", "measured", "file"), lines)


def _files(results: Mapping[str, Result]) -> str:
    lines = [
        [
            _cell(one.source),
            _cell(one.body["headline"]),
            _cell(one.body["commit"]),
            _cell(one.body["date"]),
            _cell(f"{one.body['machine']['cpu']}, {one.body['machine']['cores']} cores"),
            _cell(one.seal),
        ]
        for one in results.values()
    ]
    return table(("file", "headline", "commit", "date", "machine", "digest"), lines)


def _peers(results: Mapping[str, Result]) -> str:
    if "peers" not in results:
        return ""
    tables = [
        table(head, [[_cell(cell) for cell in line] for line in lines])
        for head, lines in (
            (beside.MEMORY_HEAD, beside.memory(results)),
            (beside.SOLVER_HEAD, beside.solvers(results)),
        )
    ]
    return f"<h2>Beside others</h2>\n<p>{escape(beside.legend(results))}</p>\n" + "\n".join(tables)


def _figure(drawing: str, caption: str) -> str:
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>" if drawing else ""


def _plots(rows: Sequence[Row], results: Mapping[str, Result]) -> str:
    effects = [
        svg.Effect(f"{one.id}  {one.short[:30]}", one.measured, one.low, one.high, one.claimed, one.verdict.split()[0])
        for one in rows
        if one.source and one.unit == "points"
    ]
    forest = svg.forest("Effect and 95 % interval per hypothesis", effects, "percentage points") if effects else ""
    drawn = [
        _figure(forest, "Effect with its 95 % interval; the diamond is what was claimed, the dashed line no effect.")
    ]
    peers = results.get("peers")
    if peers is not None:
        servers: dict[str, dict[str, Any]] = peers.at("figures/memory")
        for what in ("write", "recall"):
            series = {name: _points(one, what) for name, one in servers.items()}
            title = f"{what} latency (ms, median) against the number of stored facts"
            drawn.append(
                _figure(svg.curves(title, series, "facts stored", "ms"), title + ", all driven by one client.")
            )
        tokens = {name: float(one["tokens"]) for name, one in servers.items() if one.get("tokens")}
        title = "Tokens that the tool list costs in every conversation"
        drawn.append(_figure(svg.bars(title, tokens, "tokens", "chrysalis"), title + "."))
    return "".join(drawn)


def _points(server: Mapping[str, Any], what: str) -> list[tuple[float, float]]:
    sizes: dict[str, Any] = server.get("sizes", {})
    return [(float(size), float(one[f"{what}_p50_ms"])) for size, one in sizes.items() if f"{what}_p50_ms" in one]


def page(rows: Sequence[Row], promises: Sequence[Promise], results: Mapping[str, Result]) -> str:
    """docs/results.html."""
    met = sum(one.met for one in promises)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Chrysalis: what was measured</title><style>{STYLE}</style></head><body>
<h1>What was measured</h1>
<p>Made from the result files alone. A hypothesis is supported when its 95 % interval lies above zero, not supported
when it lies below the effect that was claimed, else undecided.</p>
{_plots(rows, results)}
<h2>Hypotheses</h2>
{_hypotheses(rows)}
<h2>Goals: {met} of {len(promises)} met</h2>
{_goals(promises)}
{_peers(results)}
<h2>Files</h2>
{_files(results)}
</body></html>
"""
