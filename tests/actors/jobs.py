"""A job outside of any actor process, to call handlers directly."""

from msgspec import Raw

from actors.base import Actor, Job
from protocol.messages import ActorMessage, Work


class RecordingActor(Actor):
    """An actor that sends nowhere and keeps what it would have sent in `sent`."""

    name = "recording"

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[ActorMessage] = []

    def handlers(self):
        return {}

    def post(self, message: ActorMessage) -> None:
        self.sent.append(message)


def make_job(
    action: str, *, id: str = "job-1", session_id: str = "s", deadline_ms: int = 25_000, operator: bool = False
) -> Job:
    """A job as a handler gets it; its progress steps are in `job._actor.sent`."""
    work = Work(
        id=id,
        action=action,
        params=Raw(b"\x80"),
        session_id=session_id,
        deadline_ms=deadline_ms,
        operator=operator,
        progress=True,
    )
    return Job(work, RecordingActor())
