"""`chrysalis doctor`: is everything there that Chrysalis needs, and what to do where it is not; settings in force."""

import argparse
import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from protocol import settings

from . import doctor_checks
from .doctor_checks import Check, Finding

COLORS: Final = {"ok": "green", "warn": "yellow", "fail": "red"}


def register(subparsers: Any) -> None:
    """Add `doctor` to the command line."""
    parser = subparsers.add_parser("doctor", help="check what Chrysalis needs here, with remedies")
    parser.add_argument("--json", action="store_true", help="for machines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run every check; 0 unless one fails."""
    findings = examine(doctor_checks.ALL)
    if options.json:
        in_force = [{"name": s.name, "value": s.value, "source": s.source} for s in _settings()]
        print(json.dumps({"findings": msgspec.to_builtins(findings), "settings": in_force}, indent=1))
    else:
        _print(findings)
    return 1 if any(finding.level == "fail" for finding in findings) else 0


def examine(checks: Sequence[Check]) -> list[Finding]:
    """The finding of each check, in order; a check that breaks is itself a failed finding."""
    return [_examined(check) for check in checks]


def _examined(check: Check) -> Finding:
    name = check.__name__.removeprefix("check_").replace("_", " ")
    try:
        return check()
    except ImportError as error:
        return Finding(name, "fail", str(error), "Run `make setup` again, or install chrysalis-mcp anew.")
    except (OSError, ValueError, RuntimeError, LookupError) as error:
        return Finding(name, "fail", f"{type(error).__name__}: {error}", "Please report this.")


def _settings() -> list[settings.Setting]:
    try:
        return settings.all_settings()
    except ValueError:
        return []  # the settings check has told it


def _print(findings: list[Finding]) -> None:
    console = Console(markup=False)
    table = Table(box=None, show_header=False)
    for finding in findings:
        remedy = f"\n→ {finding.remedy}" if finding.remedy else ""
        told = Text.assemble(finding.text, (remedy, "dim"))
        table.add_row(Text(finding.level, COLORS[finding.level]), finding.name, told)
    console.print(table, highlight=False)
    changed = [setting for setting in _settings() if setting.source != "default"]
    for setting in changed:
        console.print(f"{setting.name}={setting.value}  ({setting.source})", highlight=False)
    if not changed:
        console.print("settings: all at their defaults", highlight=False)


__all__ = ["examine", "register"]
