"""Run in the environment of people's clients: LangChain with a cache in a node, whose address is given."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from langchain_core.caches import BaseCache
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.llms import LLM
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from neuroswarm_client import AsyncClient, Client
from neuroswarm_client.langchain import NeuroSwarmCache

ADDRESS = sys.argv[1]
QUESTION = "How do I reset the alarm in the Lisbon office?"
OTHERWISE = "How can the alarm in the Lisbon office be reset?"


class Told(BaseChatModel):
    """Says which call it is; ``asked`` counts those of all."""

    name_: str
    temperature: float = 1.0
    reply: dict[str, Any] = Field(default_factory=dict)
    asked: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "told"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.name_, "temperature": self.temperature}

    def _generate(self, messages: list[BaseMessage], stop: Any = None, *_: Any, **__: Any) -> ChatResult:
        self.asked.append(str(messages[-1].content))
        text = f"Answer {len(self.asked)} of {self.name_}: hold the red button."
        message = AIMessage(content=text, **self.reply)
        return ChatResult(generations=[ChatGeneration(message=message)])


class Plain(LLM):
    asked: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "plain"

    def _call(self, prompt: str, *_: Any, **__: Any) -> str:
        self.asked.append(prompt)
        return f"Plain answer {len(self.asked)}."


def main() -> None:
    cache = NeuroSwarmCache(Client(ADDRESS), async_client=AsyncClient(ADDRESS), ttl_s=3_600)
    assert isinstance(cache, BaseCache)
    calls: list[str] = []

    def model(name: str = "one", **more: Any) -> Told:
        made = Told(name_=name, cache=cache, **more)
        made.asked = calls
        return made

    first = model().invoke(QUESTION)
    again = model().invoke(QUESTION)
    assert again.content == first.content
    assert again.response_metadata["neuroswarm"]["hit"] == "exact"
    likely = model().invoke(OTHERWISE)
    assert likely.content == first.content, "the node finds it in other words too"
    assert len(calls) == 1
    # Whatever else differs is a context of its own, in the same words and in others.
    others = [
        lambda text: model("two").invoke(text),
        lambda text: model(temperature=0.0).invoke(text),
        lambda text: model().invoke(text, stop=["\n"]),
        lambda text: model().invoke([SystemMessage("Answer in French."), HumanMessage(text)]),
        lambda text: model().invoke([HumanMessage("Hello"), AIMessage("Hi"), HumanMessage(text)]),
    ]
    for number, other in enumerate(others, start=2):
        texts = [other(text).content for text in (QUESTION, OTHERWISE, QUESTION)]
        assert len(set(texts)) == 1
        assert texts[0] != first.content
        assert len(calls) == number, calls
    # What is no plain whole answer is not kept.
    called = {"name": "f", "args": {}, "id": "1"}
    for number, reply in enumerate(
        ({"tool_calls": [called]}, {"response_metadata": {"finish_reason": "length"}}), start=7
    ):
        for more in (0, 1):
            model(f"odd {number}", reply=reply).invoke("What does the manual of the press say of oil?")
            assert len(calls) == 2 * number - 7 + more, calls
    asked = len(calls)
    picture = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:,"}},
    ]
    for _ in range(2):
        model().invoke([HumanMessage(picture)])
    assert len(calls) == asked + 2

    async def later() -> None:
        assert (await model().ainvoke(QUESTION)).content == first.content
        await model("async").ainvoke("Which key opens the archive in Porto?")
        await model("async").ainvoke("Which key opens the archive in Porto?")

    asyncio.run(later())
    assert len(calls) == asked + 3
    # Models without chat.
    plain = Plain(cache=cache)
    assert plain.invoke("Where is the spare key of the van?") == "Plain answer 1."
    assert plain.invoke("Where is the spare key of the van?") == "Plain answer 1."
    assert len(plain.asked) == 1
    cache.clear()
    assert model().invoke(QUESTION).content != first.content
    # A node that is away is a miss, and stops nobody.
    away = Told(name_="away", cache=NeuroSwarmCache(Client("http://127.0.0.1:9")))
    assert away.invoke("Is anybody there?").content.startswith("Answer")


main()
print("ok")
