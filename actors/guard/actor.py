"""The guard actor: answers for llama-server over the contract."""

from collections.abc import Mapping

from actors.base import Actor, Handler, Job
from protocol.action import NoParams, Outcome
from protocol.actions.llm import Status


class GuardActor(Actor):
    """Runs llama-server so that the machine never freezes and the model comes back by itself."""

    name = "guard"

    def handlers(self) -> Mapping[str, Handler]:
        return {"llm.status": self._status}

    async def _status(self, job: Job, params: NoParams) -> Outcome:
        del job, params
        text = "No model is configured; set one with [llm.profiles.NAME] in config.toml or `chrysalis llm start`."
        return Outcome(summary=text, data=Status(state="not_configured", text=text))
