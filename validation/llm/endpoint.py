"""Any OpenAI-compatible chat endpoint: one request with its own time limit, the reply told apart from its reasoning."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

_THINK: Final = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


class EndpointGone(Exception):  # noqa: N818
    """Nobody answers at the URL, or it refuses every request: the run stops and can be resumed."""


class Reply(Struct, frozen=True, kw_only=True):
    """One reply. `text` is without its reasoning; `native` are tool calls as the server parsed them."""

    text: str = ""
    reasoning: str = ""
    native: list[dict[str, Any]] = []
    prompt_tokens: int = 0
    reply_tokens: int = 0
    timed_out: bool = False
    cut: bool = False


class Endpoint:
    """A chat model behind a URL.

    Args:
        url: as `http://127.0.0.1:8080/v1`; model: its name there, "" = the first one listed.
        timeout_s: of each request; a reply that comes later counts as none.
        thinking_by: "kwargs" sends chat_template_kwargs.enable_thinking, "prompt" leaves it to the words.
    """

    def __init__(
        self, url: str, model: str = "", *, key: str = "", timeout_s: float = 120.0, thinking_by: str = "prompt"
    ) -> None:
        self._url = url.rstrip("/")
        self._key, self._timeout_s, self._thinking_by = key, timeout_s, thinking_by
        self.model = model or self._first_model()

    def _first_model(self) -> str:
        listed = self._request("models", None)
        return str(listed["data"][0]["id"])

    def chat(
        self,
        messages: Sequence[dict[str, Any]],
        *,
        max_tokens: int,
        thinking: bool = False,
        tools: Sequence[dict[str, Any]] = (),
        schema: dict[str, Any] | None = None,
    ) -> Reply:
        """One turn, at temperature 0.

        Raises:
            EndpointGone: nobody answers, or the request is refused.
        """
        assert not (tools and schema), "a grammar masks the tool call: never both"
        body: dict[str, Any] = {
            "model": self.model,
            "messages": list(messages),
            "max_tokens": max_tokens,
            "temperature": 0,
            "seed": 1,
        }
        if tools:
            body["tools"] = [{"type": "function", "function": tool} for tool in tools]
        if schema:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "call", "schema": schema, "strict": True},
            }
        if self._thinking_by == "kwargs":
            body["chat_template_kwargs"] = {"enable_thinking": thinking}
        try:
            return _reply(self._request("chat/completions", body))
        except TimeoutError:
            return Reply(timed_out=True)

    def _request(self, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        data = json.dumps(body).encode() if body is not None else None
        headers = {
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {self._key}"} if self._key else {}),
        }
        request = urllib.request.Request(f"{self._url}/{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            told = error.read()[:500].decode("utf-8", "replace")
            error.close()
            raise EndpointGone(f"{self._url}/{path}: {error.code}: {told}") from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise TimeoutError from None
            raise EndpointGone(f"{self._url}: {error.reason}") from None
        except (ConnectionError, json.JSONDecodeError) as error:
            raise EndpointGone(f"{self._url}: {error}") from None


def _reply(body: dict[str, Any]) -> Reply:
    choice = body["choices"][0]
    message, usage = choice["message"], body.get("usage") or {}
    content = str(message.get("content") or "")
    return Reply(
        text=_THINK.sub("", content).strip(),
        reasoning=str(message.get("reasoning_content") or "") or "".join(_THINK.findall(content)),
        native=list(message.get("tool_calls") or []),
        prompt_tokens=int(usage.get("prompt_tokens", 0)),
        reply_tokens=int(usage.get("completion_tokens", 0)),
        cut=choice.get("finish_reason") == "length",
    )
