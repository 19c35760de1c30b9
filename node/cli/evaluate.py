"""The commands ``neuroswarm eval run`` and ``eval diff``: a file of questions put to a running node."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from node.answer import reasons
from node.answer.grounding import abstains
from node.cli.desk import desk
from node.cli.http import NOBODY, NoNode, base, call
from node.cli.terminal import Progress, complain, tell
from node.core.clock import Clock, SystemClock
from node.core.errors import BadInput, Unavailable
from node.core.files import put
from node.core.settings import API_KEY, Settings
from node.knowledge.evaluation import judge, report
from node.knowledge.evaluation.outcome import Reply
from node.knowledge.evaluation.questions import Question, Split, questions
from node.knowledge.evaluation.run import measure

SEARCH = "/v1/passages"
_RANKED = 10
_NO_ROUTE = (404, 405)
_FILE_BYTES_MAX = 64 * 2**20


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Put the questions, write the report."""
    text = _read(args.file)
    asked = questions(text.splitlines(), cast("Split | None", args.split))
    if not asked:
        raise BadInput(f"{args.file} holds no question of this split", field="questions")
    wait_s = settings.server.request_timeout_s + 5
    key = os.environ.get(API_KEY, "")
    side = HttpSide(base(args, settings), wait_s, args.profile or "", not args.no_answers, key=key)
    grader = None
    if args.judge:
        if not args.judge_url:
            raise BadInput("name the judge's address too: --judge-url", field="judge_url")
        grader = HttpJudge(args.judge_url.rstrip("/"), args.judge, args.judge_timeout)
    progress = Progress("asking", len(asked))
    try:
        call(f"{side.address}/livez", None, wait_s)
    except NOBODY as exc:
        raise NoNode(side.address, exc) from exc
    try:
        measured = measure(asked, side, grader, progress.show)
    finally:
        progress.end()
    generators = sorted({one.reply.source for one in measured if one.reply and one.reply.source})
    about: dict[str, Any] = {
        "questions": {"file": Path(args.file).name, "sha256": hashlib.sha256(text.encode()).hexdigest()},
        "split": args.split or "both",
        "profile": args.profile or "default",
        "judge": judge.about(args.judge, ", ".join(generators)) if args.judge else None,
        "retrieval": "measured" if side.has_search else f"not measured: the node has no POST {SEARCH}",
    }
    made = report.report(measured, about)
    if args.out:
        put(Path(args.out), json.dumps(made, indent=1, ensure_ascii=False).encode())
    lines = [*report.table(made), "", f"retrieval: {made['retrieval']}"]
    if made["judge"]:
        lines.append(f"judge: {args.judge}. {made['judge']['bias']}")
    tell(args, made, lines, is_ascii=False)
    return 1 if made["all"]["errors"] else 0


def diff(args: argparse.Namespace, settings: Settings) -> int:
    """Which questions improved and which regressed between two reports; 1 where one regressed."""
    try:
        before, after = (json.loads(_read(name)) for name in (args.before, args.after))
    except ValueError as exc:
        raise BadInput(f"a report is no JSON: {exc}", field="report") from exc
    if not (isinstance(before, dict) and isinstance(after, dict)):
        raise BadInput("a report is a JSON object", field="report")
    made = report.difference(before, after)
    lines = []
    for side in ("improved", "regressed"):
        lines.append(f"{side}: {len(made[side])}")
        for name, changes in made[side].items():
            lines.append(f"  {name}: " + ", ".join(f"{what} {was:g} → {now:g}" for what, was, now in changes))
    for side, ids in made["only"].items():
        if ids:
            lines.append(f"only in the report {side}: {', '.join(ids)}")
    tell(args, made, lines, is_ascii=False)
    return 1 if made["regressed"] else 0


def nightly(args: argparse.Namespace, settings: Settings) -> int:
    """The job of the night, now."""
    with desk(settings) as do:
        made = do("judge", {})
    said = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in made["outcomes"].items())
    lines = [f"{made['answers']} answers: {said or 'nothing to grade yet'}"]
    if made["mean"] is not None:
        lines.append(f"mean {made['mean']:.2f} of the last {made['of']} grades, 0 to 3, by {made['judge']}")
    tell(args, made, [*lines, *filter(None, (made["note"], made["bias"]))], is_ascii=False)
    return 1 if made["answers"] and not made["outcomes"].get("graded") else 0


def _read(name: str) -> str:
    path = Path(name)
    try:
        if path.stat().st_size > _FILE_BYTES_MAX:
            raise BadInput(f"{name} is larger than {_FILE_BYTES_MAX} bytes", field="file")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as exc:
        raise BadInput(f"cannot read {name}: {exc}", field="file") from exc


@dataclass(slots=True)
class HttpSide:
    """A running node. ``has_search``: whether it has the route that finds without answering; ``key``: the API
    key that it is asked with, empty for none."""

    address: str
    wait_s: float
    profile: str = ""
    answers: bool = True
    has_search: bool = True
    key: str = field(default="", repr=False)
    clock: Clock = field(default_factory=SystemClock)

    def ranked(self, question: str) -> tuple[Sequence[str], float] | None:
        if not self.has_search:
            return None
        body: dict[str, Any] = {"query": question, "limit": _RANKED}
        if self.profile:
            body["profile"] = self.profile
        status, found, ms = self._timed(SEARCH, body)
        if status in _NO_ROUTE:
            self.has_search = False
            complain(f"the node has no POST {SEARCH}: retrieval is not measured")
            return None
        _expect(status, found)
        return [str(one.get("source", "")) for one in _listed(found, "passages")], ms

    def reply(self, question: str) -> Reply | None:
        if not self.answers:
            return None
        status, said, ms = self._timed("/chat", {"query": question, "no_cache": True, "no_store": True})
        _expect(status, said)
        text, source, usage = str(said.get("answer", "")), said.get("source") or {}, said.get("usage") or {}
        cited = dict.fromkeys(str(one.get("source", "")) for one in _listed(said, "citations"))
        abstained = said.get("abstained")
        if abstained is None:
            abstained = source.get("kind") == "fallback" or abstains(text)
        return Reply(
            text,
            tuple(one for one in cited if one),
            has_contradiction=bool(said.get("has_contradiction")),
            abstained=bool(abstained),
            unsure=reasons.is_nearest(text),
            ms=ms,
            tokens=(_count(usage, "prompt_tokens"), _count(usage, "completion_tokens")),
            source=str(source.get("id", "")),
        )

    def _timed(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any], float]:
        started = self.clock.monotonic()
        try:
            status, reply = call(f"{self.address}{path}", body, self.wait_s, self.key)
        except NOBODY as exc:
            raise Unavailable(f"the node does not answer: {exc}") from exc
        return status, reply, (self.clock.monotonic() - started) * 1000


@dataclass(slots=True)
class HttpJudge:
    """A judge model behind an OpenAI-compatible address, such as Ollama's ``…/v1``."""

    address: str
    model: str
    wait_s: float

    def __call__(self, question: Question, reply: Reply) -> int | None:
        system, user = judge.asked(question, reply.text)
        turns = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        body = {"model": self.model, "messages": turns, "temperature": 0, "seed": 0, "max_tokens": 512}
        try:
            status, said = call(f"{self.address}/chat/completions", body, self.wait_s)
            _expect(status, said)
            return judge.grade(str(said["choices"][0]["message"]["content"]))
        except NOBODY as exc:
            raise Unavailable(f"the judge at {self.address} does not answer: {exc}") from exc
        except (KeyError, IndexError, TypeError) as exc:
            raise Unavailable(f"what answers at {self.address} is no judge") from exc


def _expect(status: int, reply: Mapping[str, Any]) -> None:
    if status != 200:
        said = f"{reply.get('title', '')} {reply.get('detail', '')}"
        raise Unavailable(f"HTTP {status}: {said[:300]}")


def _listed(reply: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = reply.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0
