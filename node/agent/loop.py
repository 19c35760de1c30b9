"""The loop: a model is asked what to do and the tools it names are run, until it answers or its steps end.

Promises:
- at most ``steps_max`` times a model may call tools; then it is told to answer from what there is;
- no step takes the time of the answer: when what is left of the deadline is not enough for another step, or
  the tokens of the turn are used up, the answer is forced at once;
- each step asks the whole chain of engines, so that another one takes over in the middle of a turn; each
  counts as one question of the caller's budget;
- whatever a tool gives back is marked off as data, sentences in it that give orders are left out and
  reported, and it never reaches the system message;
- cancelling ends whatever runs: the model, or the tool.

It knows neither which tools there are nor whether the answer is right: ``desk`` judges that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from node.agent import form
from node.agent.form import Reply
from node.agent.memory.keeper import Line
from node.agent.tools import Ran, Toolbox, Turn
from node.answer.chain import Chain
from node.answer.context import Block, pack
from node.answer.prompt import marked, unmarked
from node.answer.stream import Shown
from node.core.caller import Meter
from node.core.clock import Clock
from node.core.errors import BudgetSpent
from node.core.model import Draft, Evidence, Json, Query, Step, Usage
from node.core.ports import Prompt, Tell
from node.core.tools import Call, Called
from node.language.markup import ANSWER_LABEL, QUESTION_LABEL, STOP
from node.language.sentences import one_line
from node.language.tables import read_table

STEPS_MAX = 4
TOKENS_MIN = 256
"""An answer or a call may have so many tokens at least: JSON has more of them than its words."""
RESULTS = 2
"""All results together may have so many times the characters of one."""
RESULT_CHARS_MIN = 240
_IMITATED = "\n(its result"
"""Where a model that no grammar holds begins to invent a result, as the example tells one."""
SHARE_OF_STEP = 0.6
"""The part of what is left of the time that one step may take."""
_REASON_CHARS_MAX = 200


def _told(name: str) -> str:
    text: str = read_table("node.agent", "prompts.toml")[name]
    return text.strip("\n")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one turn. ``turn_tokens_max``: read and written by models, apart from the forced answer;
    ``result_chars_max``: of one result."""

    steps_max: int = STEPS_MAX
    turn_tokens_max: int = 12_000
    tokens_max: int = TOKENS_MIN
    result_chars_max: int = 1_500


@dataclass(slots=True)
class Under:
    """A turn under way, and what it came to. ``why``: how it ended: answered, forced, no_model, no_answer,
    budget_spent. ``found``: what the tools gave, with the blocks as the model read them."""

    query: Query
    turns: tuple[tuple[str, str], ...]
    tag: str
    turn: Turn
    tell: Tell | None = None
    trace: list[Step] = field(default_factory=list)
    called: list[Called] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    found: list[Evidence] = field(default_factory=list)
    orders: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    mended: int = 0
    unread: int = 0
    longest_s: float = 0.0
    draft: Draft | None = None
    text: str = ""
    why: str = ""
    retry_after_s: int | None = None

    def note(self, stage: str, outcome: str, reason: str = "", ms: float = 0.0, code: str = "") -> None:
        self.add(Step(stage, outcome, one_line(reason, _REASON_CHARS_MAX), ms, code))

    def add(self, *steps: Step) -> None:
        """Add to the trace; who watches hears of each."""
        self.trace.extend(steps)
        if self.tell is not None:
            for one in steps:
                facts: dict[str, Json] = {"stage": one.stage, "outcome": one.outcome}
                self.tell("step", {**facts, "reason": one.reason, "ms": one.ms})


@dataclass(frozen=True, slots=True)
class Loop:
    """See the module."""

    chain: Chain
    clock: Clock
    toolbox: Toolbox
    bounds: Bounds = Bounds()

    async def run(self, under: Under) -> None:
        """Answer the turn's question; what came of it stands in ``under``."""
        while True:
            if self._must_end(under):
                await self._answer(under)
                return
            reply = await self._step(under)
            if reply is None:
                return
            if reply.answer:
                under.text, under.why = reply.answer, "answered"
                return
            for call in reply.calls:
                await self._call(under, call)
            if reply.trouble:
                under.unread += 1
                under.note("agent", "unread", reply.trouble, code="unread")
                said = _told("unread").format(said=reply.trouble)
                under.called.append(Called(Call("", "{}"), said))

    def _must_end(self, under: Under) -> bool:
        """Whether the answer is due now; the trace says why."""
        left = under.query.deadline - self.clock.monotonic()
        spent = under.usage.prompt_tokens + under.usage.completion_tokens
        if under.steps >= self.bounds.steps_max:
            under.note("agent", "forced", f"{under.steps} steps are used up", code="steps_used_up")
        elif spent >= self.bounds.turn_tokens_max:
            under.note("agent", "forced", f"{spent} tokens are used up", code="tokens_used_up")
        elif under.steps and left < 2 * under.longest_s:
            under.note("agent", "forced", f"{left:.1f} s are left", code="time_used_up")
        else:
            return False
        return True

    async def _step(self, under: Under) -> Reply | None:
        """What a model wants to do next; None where none says anything, and the turn is over."""
        under.steps += 1
        left = under.query.deadline - self.clock.monotonic()
        deadline = self.clock.monotonic() + left * SHARE_OF_STEP
        return await self._ask(under, self._prompt(under), form.read, deadline)

    async def _answer(self, under: Under) -> None:
        """The answer from what there is, in words alone."""

        def accept(draft: Draft) -> Reply:
            reply = form.read(replace(draft, calls=()))
            return reply if reply.answer else Reply(trouble=reply.trouble or "it calls a tool")

        reply = await self._ask(under, self._forced(under), accept, under.query.deadline)
        if reply is not None:
            under.text, under.why = reply.answer, "forced" if reply.answer else "no_answer"
            if not reply.answer:
                under.note("agent", "unread", reply.trouble, code="unread")

    async def _ask(
        self, under: Under, prompt: Prompt, accept: Callable[[Draft], Reply], deadline: float
    ) -> Reply | None:
        meter = under.query.caller.meter
        try:
            if meter is not None:
                meter.take()
        except BudgetSpent:
            under.note("agent", "ended", "the key's questions to models are used up", code="budget_spent")
            under.why = "budget_spent"
            return None
        began = self.clock.monotonic()
        drafts: list[Draft] = []

        def accepted(draft: Draft) -> Reply:
            drafts.append(draft)
            return accept(draft)

        speech = self._speech(under, prompt)
        tell = under.tell if speech is None else speech.tell
        on_text = None if speech is None else speech.hear
        result = await self.chain.first(prompt, accepted, deadline=deadline, tell=tell, on_text=on_text)
        took_s = self.clock.monotonic() - began
        under.longest_s = max(under.longest_s, took_s)
        under.add(*result.steps)
        if result.value is None:
            _give_back(meter, result.steps)
            under.retry_after_s = result.retry_after_s
            under.why = under.why or "no_model"
            return None
        self._heard(under, drafts[-1], result.value, took_s)
        if tell is not None and not result.value.answer:
            tell("reset", {})
        return result.value

    def _heard(self, under: Under, draft: Draft, reply: Reply, took_s: float) -> None:
        under.draft = draft
        under.usage = Usage(
            under.usage.prompt_tokens + draft.prompt_tokens,
            under.usage.completion_tokens + draft.completion_tokens,
        )
        under.mended += reply.is_mended
        said = f"{draft.engine} {draft.model}: {draft.completion_tokens} tokens"
        outcome = "calls" if reply.calls else "answer" if reply.answer else "unread"
        under.note("generate", outcome, said, round(took_s * 1_000, 3), "mended" if reply.is_mended else "")

    def _speech(self, under: Under, prompt: Prompt) -> form.Speech | None:
        if under.tell is None:
            return None
        shown = Shown(under.tell, stop=prompt.stop, echo=(prompt.system,), thinks=False)
        return form.Speech(shown.add, shown.tell)

    def remember(self, under: Under, lines: Sequence[Line]) -> None:
        """Tell the model what is kept of the user and the company, as evidence that can be cited."""
        packed = pack([line.evidence for line in lines], chars_max=self.bounds.result_chars_max)
        if not packed.blocks:
            return
        under.blocks += packed.blocks
        under.found += [lines[block.index].evidence for block in packed.blocks]
        under.called.append(Called(Call("", "{}"), f"{_told('memory')}\n{marked(packed.blocks, under.tag)}"))
        under.note("memory", "told", f"{len(packed.blocks)} lines")

    # --- tools ------------------------------------------------------------------------------------

    async def _call(self, under: Under, call: Call) -> None:
        if len(under.called) >= self.bounds.steps_max * 2:
            return
        began = self.clock.monotonic()
        if under.tell is not None:
            under.tell("tool", {"name": call.name[:64], "arguments": call.arguments[:_REASON_CHARS_MAX]})
        left = under.query.deadline - began - 2 * under.longest_s
        result = await self.toolbox.call(call, under.turn, left_s=max(1.0, left))
        took = round((self.clock.monotonic() - began) * 1_000, 3)
        said = form.shown(call) if not result.said else f"{form.shown(call)}: {result.said}"
        name = call.name if result.code != "unknown" else "unknown"
        under.note(f"tool:{name}"[:40], result.code, said, took, f"tool_{result.code}")
        under.called.append(Called(call, self._result(under, call, result)))

    def _result(self, under: Under, call: Call, result: Ran) -> str:
        """A result as the model reads it: marked off, each source with its number."""
        about = {
            "name": unmarked(call.name, under.tag),
            "arguments": unmarked(call.arguments[:200], under.tag),
        }
        used = sum(len(block.text) for block in under.blocks)
        most = self.bounds.result_chars_max
        room = max(RESULT_CHARS_MIN, min(most, RESULTS * most - used))
        packed = pack(result.evidence, chars_max=room)
        if not packed.blocks:
            said = unmarked(result.said or "nothing that can be read", under.tag)
            return _told("nothing").format(**about, said=said)
        first = len(under.blocks) + 1
        blocks = [replace(one, number=first + place) for place, one in enumerate(packed.blocks)]
        for block in blocks:
            if block.orders:
                under.orders.append(block.source.id)
                said = f"{block.orders} sentences that give orders, not followed: {block.source.id}"
                under.note("agent", "orders", said, code="orders")
        under.blocks += blocks
        under.found += [result.evidence[block.index] for block in blocks]
        return f"{_told('result').format(**about)}\n{marked(blocks, under.tag)}"

    # --- prompts ----------------------------------------------------------------------------------

    def _prompt(self, under: Under) -> Prompt:
        """The next step, for an engine with calls of its own and for one without."""
        system, turns = self._system(under), under.turns
        question = f"{QUESTION_LABEL}: {unmarked(under.turn.message, under.tag)}"
        offered = self.toolbox.offered
        rules = _told("tools").format(tools=form.listing(offered))
        said = [one.said for one in under.called]
        plain = Prompt(
            system=system,
            user="\n\n".join([rules, question, *said]),
            tokens_max=self.bounds.tokens_max,
            stop=(_IMITATED, *STOP),
            turns=turns,
            schema=form.schema(offered),
        )
        called = tuple(one for one in under.called if one.call.name)
        heard = [one.said for one in under.called if not one.call.name]
        own = Prompt(system, "\n\n".join([question, *heard]), self.bounds.tokens_max, STOP, turns=turns)
        return replace(own, tools=offered, called=called, plain=plain)

    def _forced(self, under: Under) -> Prompt:
        question = f"{QUESTION_LABEL}: {unmarked(under.turn.message, under.tag)}"
        said = [one.said for one in under.called]
        user = "\n\n".join([question, *said, _told("forced"), f"{ANSWER_LABEL}:"])
        return Prompt(self._system(under), user, self.bounds.tokens_max, STOP, turns=under.turns)

    def _system(self, under: Under) -> str:
        query = under.query
        more = "" if query.talk is None else unmarked(query.talk.instructions, under.tag)
        now = query.local.strftime("%A, %Y-%m-%d")
        return "\n\n".join(filter(None, (_told("system").format(now=now), more)))


def _give_back(meter: Meter | None, steps: Sequence[Step]) -> None:
    if meter is not None and not any(one.stage == "generate" and one.outcome == "rejected" for one in steps):
        meter.give_back()
