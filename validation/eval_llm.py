"""`python -m validation.eval_llm --hyp ha,ctx,hc,…`: the product with a real model in the loop, paired and resumable.

Drives the product through its real bridge with the official MCP client, and any OpenAI-compatible endpoint
(`CHRYSALIS_LLM_URL` or --url). n, arms and rule are those of `validation/llm/preregistrations/`. Every trial is
kept under `validation/transcripts/`; the same command goes on where it was stopped. Writes
`validation/results/NAME.json`, whose records `python -m evidence.build` takes up; `--collect` writes it from the
transcripts alone, without a model.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from evidence.profiles import complete
from evidence.records import Model
from protocol import settings
from validation.llm import advice, analysis, calibration, groups, plan
from validation.llm.conversation import Conversation, Trial
from validation.llm.endpoint import Endpoint, EndpointGone
from validation.llm.items import Group, Item
from validation.llm.product import Product, open_product
from validation.llm.transcripts import Transcripts, sittings
from validation.report.markdown import number
from validation.result import Measured, write

THINKING = {"off": (False,), "on": (True,), "both": (False, True)}


class Run:
    """One invocation: what was asked for, and what is collected group by group.

    Args:
        endpoint: the model that is asked; None only collects what was kept.
    """

    def __init__(self, options: argparse.Namespace, endpoint: Endpoint | None) -> None:
        self.options, self.endpoint = options, endpoint
        self.plan = plan.load(options.plan)
        self.started = time.monotonic()
        self.thinkings = THINKING[options.thinking]
        known = Model(
            name=options.model_name or (endpoint.model if endpoint else ""), quantisation=options.quantisation
        )
        self.model = complete(msgspec.structs.replace(known, params_b=options.params_b))
        self.name = f"{options.name}-{plan.digest(options.plan)}-{options.calls}-{options.context}"
        self.figures: dict[str, Any] = {}
        self.hypotheses: dict[str, Any] = dict.fromkeys(plan.HYPOTHESES)
        self.records: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.items = 0

    def group_plan(self, name: str) -> plan.GroupPlan:
        """The group as planned, or with the n that was asked for."""
        planned = self.plan.groups[name]
        return msgspec.structs.replace(planned, n=min(planned.n, self.options.n or planned.n))

    def progress(self, text: str) -> None:
        """Tell on stderr how far it is."""
        print(f"[{time.monotonic() - self.started:7.1f} s] {text}", file=sys.stderr, flush=True)

    def out_of_time(self) -> bool:
        """Whether the minutes that were given are over."""
        return bool(self.options.minutes) and time.monotonic() - self.started > 60 * self.options.minutes

    def keep(self, name: str, group: Group, kept: Transcripts) -> None:
        """Turn a group's trials into figures and records."""
        for thinking in self.thinkings:
            by_arm = analysis.arms(kept.trials.values(), thinking=thinking)
            if not by_arm:
                continue
            planned = self.group_plan(name)
            figures = analysis.group_figures(planned, by_arm)
            suffix = ", thinking" if thinking else ""
            self.figures[name + suffix] = figures
            self.hypotheses |= {key + suffix: value for key, value in figures["compared"].items()}
            model = msgspec.structs.replace(self.model, thinking=thinking)
            source = analysis.Source(group=name, plan=planned, by_arm=by_arm, model=model, seed=self.plan.seed)
            self.records += analysis.records(source, group.items)
            asked = max(len(found) for found in by_arm.values())
            self.items += asked
            if asked < self.plan.groups[name].n:
                self.notes.append(f"{name}{suffix}: {asked} of {self.plan.groups[name].n} planned items")


class Asking(msgspec.Struct, frozen=True):
    """What one group's trials need."""

    endpoint: Endpoint
    name: str
    group: Group
    product: Product
    todo: Sequence[tuple[Item, str, bool]]


def serve(run: Run, name: str) -> None:
    """Ask one group's missing trials and keep what there is."""
    planned = run.group_plan(name)
    whole = groups.make(name, run.plan.groups[name], run.plan.seed, run.options.context)
    group = groups.first(whole, planned.n)
    kept = Transcripts(run.name, name)
    todo = [
        (item, arm, thinking)
        for item, arm, thinking in groups.order(group.items, planned, run.thinkings, run.plan.seed)
        if (item.id, arm, thinking) not in kept.trials
    ]
    gone: EndpointGone | None = None
    if todo and run.endpoint and not run.out_of_time():
        with tempfile.TemporaryDirectory(prefix="cz") as folder, open_product(_evidence(run, Path(folder))) as product:
            product.fill(group.facts, [item.alias for item in group.items if item.alias])
            try:
                _ask(run, Asking(run.endpoint, name, group, product, todo), kept)
            except EndpointGone as error:  # raised in here it would come out in a group of the client's
                gone = error
    if gone:
        raise gone
    run.keep(name, group, kept)


def _evidence(run: Run, folder: Path) -> dict[str, str]:
    """The daemon advises by what this run has measured so far."""
    return {"CHRYSALIS_EVIDENCE": str(advice.evidence_file(run.records, folder))} if run.records else {}


def _ask(run: Run, asking: Asking, kept: Transcripts) -> None:
    name, group, todo = asking.name, asking.group, asking.todo
    mode, window = run.options.calls, run.options.context
    talk = Conversation(asking.endpoint, asking.product, run.plan, mode=mode, facts=group.facts, window=window)
    thinkings = run.thinkings if name == "adv" else ()
    hints = {thinking: _hints(run, asking.product, group, thinking=thinking) for thinking in thinkings}
    run.progress(f"{name}: {len(todo)} trials, {len(group.facts)} facts stored, {talk.fitted} fit into the context")
    for done, (item, arm, thinking) in enumerate(todo, start=1):
        if run.out_of_time():
            run.progress(f"{name}: out of time after {done - 1} of {len(todo)} trials")
            return
        hint = hints[thinking].get(arm, {}).get(item.id, "") if hints else ""
        trial = Trial(group=name, item=item.id, arm=arm, thinking=thinking, gold=item.gold, hint=hint)
        kept.add(talk.hold(trial, item))
        if done % 10 == 0:
            run.progress(f"{name}: {done} of {len(todo)} trials")


def _hints(run: Run, product: Product, group: Group, *, thinking: bool) -> Mapping[str, Mapping[str, str]]:
    """By arm and item, what the arms that are told something are told."""
    real = advice.hints(product, run.model, group.items, thinking=thinking)
    generic = dict.fromkeys(real, advice.GENERIC)
    return {"advised": real, "sham": advice.sham(real, run.plan.seed), "generic": generic}


def calibrate(run: Run) -> None:
    """Let the model sit the product's own calibration."""
    sat, wanted = sittings(run.name), run.group_plan("cal").n
    if run.endpoint and len(sat.kept) < wanted:
        with open_product() as product:
            for number in range(len(sat.kept), wanted):
                if run.out_of_time():
                    break
                sat.add(calibration.sit(run.endpoint, product, f"sitting {number}", run.plan.answer_tokens))
    if sat.kept:
        run.figures["cal"] = {"class by the table": run.model.kind, "sittings": sat.kept[:wanted]}


def measured(run: Run) -> Measured:
    """The result of everything there is."""
    told = [
        f"{name} {number(found['points'])} ({number(found['ci95_points'][0])} to {number(found['ci95_points'][1])})"
        for name, found in run.hypotheses.items()
        if found
    ]
    figures = {
        "model": msgspec.to_builtins(run.model),
        "preregistration": {"sha256": plan.digest(run.plan.seed), "rule": run.plan.rule},
        "transcripts": run.name,
        "calls": run.options.calls,
        "context": run.options.context,
        "thinking_by": run.options.thinking_by,
        "hypotheses": run.hypotheses,
        "groups": run.figures,
        "records": run.records,
    }
    return Measured(
        headline=f"{run.model.name}: " + ("; ".join(told) or "nothing asked yet"),
        figures=figures,
        n=run.items,
        seed=run.plan.seed,
        notes=run.notes,
    )


def parser() -> argparse.ArgumentParser:
    """The command line."""
    flags = argparse.ArgumentParser(
        prog="python -m validation.eval_llm", description="The product with a real model in the loop."
    )
    flags.add_argument("--hyp", default=",".join(groups.ORDER), help=f"groups of {', '.join(groups.ORDER)}")
    flags.add_argument("--thinking", choices=THINKING, default="off")
    flags.add_argument("--thinking-by", choices=("prompt", "kwargs"), default="prompt", help="how it is switched")
    flags.add_argument("--calls", choices=("native", "forced"), default="native", help="forced: arguments by schema")
    flags.add_argument("--url", default="", help="in place of CHRYSALIS_LLM_URL")
    flags.add_argument("--key", default="", help="the endpoint's API key")
    flags.add_argument("--model", default="", help="its name at the endpoint; the first one otherwise")
    flags.add_argument("--model-name", default="", help="what it is, as qwen2.5-coder-0.5b-instruct")
    flags.add_argument("--params-b", type=float, default=0.0, help="billion parameters")
    flags.add_argument("--quantisation", default="")
    flags.add_argument("--context", type=int, default=4096, help="its context in tokens")
    flags.add_argument("--timeout", type=float, default=120.0, help="seconds for each request")
    flags.add_argument("--minutes", type=float, default=0.0, help="stop after so many and write what there is")
    flags.add_argument("--plan", type=int, default=0, choices=plan.seeds(), help="seed of an earlier preregistration")
    flags.add_argument("--n", type=int, default=0, help="fewer items a group than planned")
    flags.add_argument("--collect", action="store_true", help="ask nothing; write what the transcripts give")
    flags.add_argument("--name", default="llm", help="of the result file")
    return flags


def _endpoint(url: str, options: argparse.Namespace) -> Endpoint:
    return Endpoint(url, options.model, key=options.key, timeout_s=options.timeout, thinking_by=options.thinking_by)


def collect(run: Run, wanted: Sequence[str]) -> None:
    """Each group in turn: what is missing is asked, what is kept becomes figures and records."""
    for name in (name for name in groups.ORDER if name in wanted):
        calibrate(run) if name == "cal" else serve(run, name)


def main(argv: list[str] | None = None) -> int:
    """Ask what is missing, write the result; 2 when the endpoint is not there or a group is unknown."""
    options = parser().parse_args(argv)
    wanted = [name.strip() for name in options.hyp.split(",") if name.strip()]
    unknown = sorted(set(wanted) - set(groups.ORDER))
    url = options.url or settings.value("CHRYSALIS_LLM_URL")
    if unknown or not (url or options.collect):
        print(f"unknown groups: {', '.join(unknown)}" if unknown else "set CHRYSALIS_LLM_URL or --url", file=sys.stderr)
        return 2
    if options.collect and not options.model_name:
        print("--collect asks no endpoint: say with --model-name which model it was", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # the daemon it started ends with it
    try:
        run = Run(options, None if options.collect else _endpoint(url, options))
        collect(run, wanted)
    except EndpointGone as gone:
        print(f"{gone}\nWhat was asked is kept; the same command goes on.", file=sys.stderr)
        return 2
    if options.collect and not run.figures:
        print(f"no transcripts of {run.name}: nothing is written", file=sys.stderr)
        return 2
    result = measured(run)
    path = write(options.name, result, quick=False, seconds=time.monotonic() - run.started)
    print(f"written: {path.name}", file=sys.stderr)
    print(result.headline)
    return 0


if __name__ == "__main__":
    sys.exit(main())
