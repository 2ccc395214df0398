"""Gathers what an admission rests on: files, flags, header, estimates, memory. Blocks; runs off the loop."""

from pathlib import Path

import msgspec
from msgspec import Struct

from protocol.actions.llm import Admission

from . import oracle
from .admission import decide
from .command import find_binary, known_flags, launch_for
from .estimate import Part, Shape, UnknownShape, need, shape_of
from .gguf import GgufError, Header, read_model
from .ledger import Ledger, key_of
from .machine import Machine
from .profiles import Profile, ProfileError, check_files


class Plan(Struct, frozen=True, kw_only=True):
    """An admission with what a start needs: the binary, its flags, the key of the ledger."""

    admission: Admission
    binary: Path
    flags: frozenset[str]
    ledger_key: str


def make_plan(profile: Profile, machine: Machine, ledger: Ledger, mark: str, *, override: bool = False) -> Plan:
    """Decide for a profile with everything there is to know.

    Raises:
        ProfileError: a file or the binary is missing, or the model cannot be read; the message says what to do.
    """
    check_files(profile)
    binary = find_binary()
    flags = known_flags(binary)
    header = _header(profile)
    key = key_of(profile, binary)
    mmproj = Path(profile.mmproj).expanduser().stat().st_size if profile.mmproj else 0
    parts, note = _parts(profile, binary, header, mmproj)
    admission = decide(
        profile,
        header,
        machine.memory(),
        machine.gpus(),
        override=override,
        past=ledger.error(key),
        oracle=parts,
        mmproj_bytes=mmproj,
        pressure=machine.pressure(),
    )
    if profile.on_gpu and not machine.has_gpu():
        note += " No GPU is visible: it would run on the CPU."
    command = launch_for(profile, binary, flags, port=profile.port, mark=mark).argv
    shown = msgspec.structs.replace(admission, command=command, text=f"{admission.text}{note}")
    return Plan(admission=shown, binary=binary, flags=flags, ledger_key=key)


def _header(profile: Profile) -> Header:
    try:
        return read_model(profile.path)
    except (GgufError, OSError) as error:
        raise ProfileError(f"{profile.model} cannot be used: {error}") from error


def _parts(profile: Profile, binary: Path, header: Header, mmproj: int) -> tuple[tuple[Part, ...] | None, str]:
    """The oracle's parts joined with the formulas', or None for the formulas alone; and a note when it failed."""
    shape: Shape | None
    try:
        shape, formula = shape_of(header), need(header, profile, mmproj_bytes=mmproj)
    except UnknownShape:
        shape, formula = None, ()
    try:
        return oracle.merged(formula, oracle.ask(profile, binary, header, shape)), ""
    except oracle.OracleError as error:
        absent = "not beside" in str(error)
        return None, "" if absent else f" ({error}; the formulas were used.)"
