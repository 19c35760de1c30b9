"""How the node is: every engine and store is asked at once, each within its own limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace

from node.answer.chain import answers
from node.audit.decisions.origin import epoch_of
from node.core.errors import NodeError
from node.core.model import Check
from node.core.ports import Adapter, Generator
from node.pipeline.ports import Ports
from node.pipeline.single_flight import SingleFlight

HEALTH_TIMEOUT_S = 1.7
WITH_VECTOR_MIN = 0.9
"""Of what is stored so much must have a vector; texts beyond the embedder's window never get one."""
GET_A_MODEL = "with Ollama installed, type: ollama pull llama3.2; or type: make model"
"""The two ways to a language model: the operator's, so in health and never in an answer."""
_WORST = {"pass": 0, "warn": 1, "fail": 2}


class Health:
    """Who asks while somebody else's examination is under way shares it: a flood of questions about health is
    not a flood of probes."""

    def __init__(self, ports: Ports) -> None:
        self._p = ports
        self._examinations: SingleFlight[list[Check]] = SingleFlight()

    async def checks(self) -> list[Check]:
        """Never slower than two seconds."""
        checks, _ = await self._examinations.run("health", self._examine)
        return checks

    async def _examine(self) -> list[Check]:
        p = self._p
        probes: list[tuple[str, Awaitable[Check]]] = [
            *((f"probe:{number}", probe()) for number, probe in enumerate(p.probes)),
            ("ipfs:blocks", self.store()),
            ("entries", self._entries_check()),
        ]
        models, others, _ = await asyncio.gather(
            model_checks(p.generators),
            asyncio.gather(*(within(name, probe) for name, probe in probes)),
            p.semantics.probe(),
        )
        adapters = [adapter_check(adapter) for adapter in p.adapters]
        return [*p.semantics.health(), self._log_check(), p.watch.health(), *adapters, *models, *others]

    def _log_check(self) -> Check:
        """The log's own word, and what is missing from it."""
        check, unlogged = self._p.log.health(), self._p.metrics.unlogged
        if check.status == "pass" and unlogged.is_outage:
            check = replace(check, status="warn", output="the last decision could not be logged")
        if not unlogged.total:
            return check
        missing = f"decisions since the start that are not in the log: {unlogged.total}"
        return replace(check, output=f"{check.output}; {missing}" if check.output else missing)

    async def store(self) -> Check:
        """What its guard says of it, with the figures of what is in it."""
        check = await self._p.store_check()
        try:
            counts = await self._p.records.counts()
        except NodeError as exc:
            return check if check.status == "fail" else replace(check, status="fail", output=str(exc))
        semantic = self._p.semantics.facts()
        self._p.metrics.set(
            records=counts["live"],
            blocks=counts["blocks"],
            log_size=self._p.log.size(),
            log_epoch=epoch_of(self._p.log.origin)[1],
            index_vectors=semantic.vectors,
            embedding_dimensions=semantic.dim,
            reembedding_done=semantic.done,
            reembedding_total=semantic.total,
        )
        return replace(check, observed=counts["blocks"], unit="blocks")

    async def _entries_check(self) -> Check:
        """Whether what is stored can be found by its meaning, or soon will."""
        live = (await self._p.records.counts())["live"]
        facts = self._p.semantics.facts()
        vectors = facts.vectors
        if not self._p.semantics.info.dim or vectors >= live * WITH_VECTOR_MIN:
            said = "" if live else "nothing is stored yet; type: neuroswarm cache import FILE"
            return Check("entries", "pass", said, observed=live, unit="stored answers")
        if facts.done < facts.total:
            said = f"{vectors} of {live} stored answers are found by meaning; the others follow by themselves"
            return Check("entries", "pass", said, observed=live, unit="stored answers")
        said = (
            f"only {vectors} of {live} stored answers are found by meaning, the others only in the very "
            "same words; type: neuroswarm embed, then start the node again"
        )
        return Check("entries", "warn", said, observed=live, unit="stored answers")


def worst(checks: Sequence[Check]) -> str:
    """The status of the whole."""
    return max((check.status for check in checks), key=lambda status: _WORST[status], default="pass")


def adapter_check(adapter: Adapter) -> Check:
    """What an adapter says of itself, under its name, and what is left of its scarcest limit."""
    check = replace(adapter.health(), name=f"adapter:{adapter.name}")
    budgets = adapter.budgets()
    if not budgets:
        return check
    scarce = min(budgets, key=lambda one: one.remaining / one.limit)
    unit = f"calls left of {scarce.limit} in {scarce.window_s:g} s ({scarce.source})"
    return replace(check, observed=scarce.remaining, unit=unit)


async def model_checks(generators: Sequence[Generator]) -> list[Check]:
    """Every language model, asked at once, each within its own limit; and where none can be used, what that
    disables and the ways to get one."""
    checks = list(await asyncio.gather(*(_model_check(generator) for generator in generators)))
    if any(map(answers, checks)):
        return checks
    why = "no language model can be used" if checks else "no language model is configured"
    said = f"{why}: explanations come from cache, sources and quotations only; {GET_A_MODEL}"
    return [*checks, Check("model", "warn", said)]


async def _model_check(generator: Generator) -> Check:
    name = f"model:{generator.name}"
    return replace(await within(name, generator.probe()), name=name)


async def within(name: str, probe: Awaitable[Check]) -> Check:
    try:
        async with asyncio.timeout(HEALTH_TIMEOUT_S):
            return await probe
    except TimeoutError:
        return Check(name, "warn", f"did not answer within {HEALTH_TIMEOUT_S:g} s")
    except NodeError as exc:
        return Check(name, "fail", str(exc))
