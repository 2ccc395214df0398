"""An advisory actor without a process, over a database of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from actors.advisory.actor import AdvisoryActor
from evidence.rules import Evidence


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MODEL_PROFILE", "OUTCOME_LOG", "ENFORCE_ADVISORY", "EVIDENCE", "READONLY"):
        monkeypatch.delenv(f"CHRYSALIS_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("CHRYSALIS_DB", str(tmp_path / "substrate.db"))


@pytest.fixture
def opened():
    """An opened actor as a context: `async with opened(evidence) as actor`."""

    @asynccontextmanager
    async def open_(evidence: Evidence | None = None) -> AsyncIterator[AdvisoryActor]:
        actor = AdvisoryActor(evidence)
        await actor.open()
        try:
            yield actor
        finally:
            await actor.stop()

    return open_


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
