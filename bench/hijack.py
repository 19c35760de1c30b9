"""Attacks on the cache: does somebody get an answer that was stored for another question?

    python -m bench.hijack [--quick] [--victims N] [--show N]

Fifty victims (``hijack_victims.txt``): questions over many topics, each with an answer of its own.
Attacks, in texts near to a victim's question that ask something else:

    join        the victim's question and another sentence or instruction, both orders, several joints
    concat      two victims' questions, one behind the other
    suffix      another question of the attacker's with a suffix of words, searched for each victim so that
                its cosine to the victim's question is greatest: hill-climbing without a look into any model,
                by ``EMBEDDINGS`` embeddings each, over the embedder's words and the victim's own
    many        the same, but one text that is to be near all five victims of a topic at once
    changed     the victim's question with another number, name, unit or time, negated, opposite or turned

in two directions:

    asked       the victims' answers are stored and the attacker's text is asked: is a victim's answer served?
    planted     the attacker's texts are stored, with poisoned answers, and the victims ask their questions:
                is a poisoned answer served?

Through a running node (search and entries over HTTP), and beside it what the nearest stored question
would have served by cosine alone from .9, .8, .7 on: the same texts, the same vectors. A victim is
*hijacked* if any text of the attack succeeded. Mark: of the victims at most 1 % by joining or suffixes,
in either direction.

The attacker sees cosines but no verdict of the gate; an attacker who asks the node thousands of times is
not simulated.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.cache_service import Client, Refused, session
from bench.fresh_node import fresh_node
from node.core.clock import SystemClock
from node.core.errors import NodeError
from node.core.normalise import normalise
from node.models.embedders.local import DIM, MiniLm, installed_files

FILE = Path(__file__).with_name("hijack_victims.txt")
COSINES = (0.9, 0.8, 0.7)
EMBEDDINGS = 200
"""Budget of a suffix search, for each victim or group of victims."""
EMBEDDINGS_QUICK = 40
VICTIMS_QUICK = 10
WORDS_MAX = 12
AT_ONCE = 8
HIJACKED_MAX = 0.01
MARKED = ("join", "concat", "suffix", "many")
SEED = 5

JOINTS = (
    "{v} And {o}",
    "{v} {o}",
    "{o} {v}",
    "{o} And {v}",
    "{v} {i}",
    "{i} {v}",
    "{v} Then {i}",
    "Ignore the next question. {v}",
    "{v} Ignore that; {o}",
)
OTHERS = (
    "where can I buy a cheap phone?",
    "how do I delete all of my files?",
    "who should I vote for?",
    "what is your system prompt?",
    "which shares should I sell today?",
)
INSTRUCTIONS = (
    "Answer in French.",
    "Send the result to my accountant.",
    "Write a poem about it.",
    "Say that it is not allowed.",
    "Explain it to a lawyer in two pages.",
)

Matrix = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Matrix]


@dataclass(frozen=True, slots=True)
class Victim:
    topic: str
    question: str
    kind: str
    changed: str


@dataclass(frozen=True, slots=True)
class Attack:
    """A text with the victims that it aims at, by number. ``kind`` is what differs, for ``changed``."""

    name: str
    text: str
    victims: tuple[int, ...]
    kind: str = ""


def read(file: Path = FILE) -> list[Victim]:
    """The victims of a file. Raises ``ValueError``, ``OSError``."""
    out = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 4 or not all(parts):
            raise ValueError(f"{file.name}, line {number}: not topic | question | kind | changed question")
        out.append(Victim(*parts))
    return out


# --- the attacks ----------------------------------------------------------------------------------


def joins(victims: Sequence[Victim]) -> list[Attack]:
    """The victim's question and something else in one text."""
    out = []
    for number, victim in enumerate(victims):
        for place, joint in enumerate(JOINTS):
            other = OTHERS[(number + place) % len(OTHERS)]
            if joint.startswith("{o}"):
                other = other[0].upper() + other[1:]
            text = joint.format(
                v=victim.question, o=other, i=INSTRUCTIONS[(number + place) % len(INSTRUCTIONS)]
            )
            out.append(Attack("join", text, (number,)))
    return out


def concats(victims: Sequence[Victim]) -> list[Attack]:
    """Each victim's question with that of the next victim and with one of another topic."""
    out = []
    for number, victim in enumerate(victims):
        for step in (1, len(victims) // 2):
            other = victims[(number + step) % len(victims)]
            if other is not victim:
                aims = (number, (number + step) % len(victims))
                out.append(Attack("concat", f"{victim.question} {other.question}", aims))
    return out


def changes(victims: Sequence[Victim]) -> list[Attack]:
    """One thing changed."""
    return [Attack("changed", one.changed, (number,), one.kind) for number, one in enumerate(victims)]


def suffixes(victims: Sequence[Victim], embed: Embed, words: Sequence[str], budget: int) -> list[Attack]:
    """One searched text for each victim."""
    out = []
    for number, victim in enumerate(victims):
        base = OTHERS[number % len(OTHERS)]
        text = search(base, [victim.question], embed, words, budget, SEED + number)
        out.append(Attack("suffix", text, (number,)))
    return out


def many(victims: Sequence[Victim], embed: Embed, words: Sequence[str], budget: int) -> list[Attack]:
    """One searched text for each topic."""
    out = []
    for place, topic in enumerate(dict.fromkeys(one.topic for one in victims)):
        aims = tuple(number for number, one in enumerate(victims) if one.topic == topic)
        asked = [victims[number].question for number in aims]
        text = search(OTHERS[place % len(OTHERS)], asked, embed, words, budget, SEED + place)
        out.append(Attack("many", text, aims))
    return out


def search(
    base: str, targets: Sequence[str], embed: Embed, words: Sequence[str], budget: int, seed: int
) -> str:
    """``base`` with the suffix that was found, ``budget`` embeddings in all. The search begins with the first
    target's own words; then words are added, exchanged or taken away as long as the mean cosine to
    ``targets`` rises. Half of the words tried are the targets' own."""
    rng = random.Random(seed)
    own = sorted({word.strip("?.,").lower() for text in targets for word in text.split()})
    aim = embed(targets)
    suffix = [word.strip("?.,").lower() for word in targets[0].split()][:WORDS_MAX]
    best = float(np.mean(embed([f"{base} {' '.join(suffix)}"]) @ aim.T))
    for _ in range(max(1, budget // AT_ONCE)):
        tried = [_varied(suffix, own if rng.random() < 0.5 else words, rng) for _ in range(AT_ONCE)]
        cosines = (embed([f"{base} {' '.join(one)}".strip() for one in tried]) @ aim.T).mean(axis=1)
        place = int(cosines.argmax())
        if cosines[place] > best:
            best, suffix = float(cosines[place]), tried[place]
    return f"{base} {' '.join(suffix)}".strip()


def _varied(suffix: Sequence[str], words: Sequence[str], rng: random.Random) -> list[str]:
    out = list(suffix)
    at, choice = rng.randrange(len(out) + 1), rng.random()
    if out and choice < 0.2:
        del out[min(at, len(out) - 1)]
    elif (out and choice < 0.5) or len(out) >= WORDS_MAX:
        out[min(at, len(out) - 1)] = rng.choice(words)
    else:
        out.insert(at, rng.choice(words))
    return out


# --- their success --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Success:
    """A wrong answer that was served: who was hit, by which text."""

    attack: Attack
    victim: int


def by_cosine(asked: Matrix, stored: Matrix, threshold: float) -> list[int | None]:
    """For each asked text the nearest stored one, from the threshold on."""
    if not len(stored):
        return [None] * len(asked)
    cosines = asked @ stored.T
    nearest = cosines.argmax(axis=1)
    return [int(at) if cosines[row, at] >= threshold else None for row, at in enumerate(nearest)]


async def served(client: Client, asked: Sequence[str], stored: Sequence[str], tag: str) -> list[int | None]:
    """For each asked text the stored one whose answer the node served. The entries are withdrawn after; their
    answers have a ``tag`` of their own, because a record that was withdrawn never comes back."""
    cids: dict[str, int] = {}
    for number, text in enumerate(stored):
        cid = await client.store(text, f"{tag}: answer {number}")
        if cid is not None:
            cids[cid] = number
    out: list[int | None] = []
    for text in asked:
        try:
            reply = await client.search(text)
        except Refused:
            out.append(None)
            continue
        out.append(None if reply["hit"] is None else cids[reply["cid"]])
    for cid in cids:
        await client.withdraw(cid)
    return out


def successes_asked(attacks: Sequence[Attack], found: Sequence[int | None]) -> list[Success]:
    """Direction ``asked``: the texts that were served a victim's answer."""
    return [Success(attack, at) for attack, at in zip(attacks, found, strict=True) if at is not None]


def successes_planted(attacks: Sequence[Attack], found: Sequence[int | None]) -> list[Success]:
    """Direction ``planted``: the victims that were served a poisoned answer."""
    return [Success(attacks[at], victim) for victim, at in enumerate(found) if at is not None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One attack in one direction: its successes by the name of the cache, ``gate`` first."""

    attack: str
    direction: str
    tries: int
    by_cache: Mapping[str, Sequence[Success]]


async def measure(
    client: Client, victims: Sequence[Victim], attacks: Sequence[Attack], embed: Embed
) -> list[Outcome]:
    """Every attack in both directions."""
    questions = [one.question for one in victims]
    vectors, texts = embed(questions), embed([one.text for one in attacks])
    answered = await served(client, [one.text for one in attacks], questions, "victims")
    out = []
    for name in dict.fromkeys(one.name for one in attacks):
        places = [place for place, one in enumerate(attacks) if one.name == name]
        chosen, near = [attacks[place] for place in places], texts[places]
        poisoned = await served(client, questions, [one.text for one in chosen], name)
        asked = {"gate": successes_asked(chosen, [answered[place] for place in places])}
        planted = {"gate": successes_planted(chosen, poisoned)}
        for threshold in COSINES:
            asked[f"cosine {threshold}"] = successes_asked(chosen, by_cosine(near, vectors, threshold))
            planted[f"cosine {threshold}"] = successes_planted(chosen, by_cosine(vectors, near, threshold))
        out.append(Outcome(name, "asked", len(chosen), asked))
        out.append(Outcome(name, "planted", len(chosen), planted))
    return out


def hijacked(outcomes: Sequence[Outcome], cache: str) -> set[int]:
    """The victims that fell to any of the attacks of the mark."""
    marked = [one for one in outcomes if one.attack in MARKED]
    return {success.victim for one in marked for success in one.by_cache[cache]}


def report(outcomes: Sequence[Outcome], victims: Sequence[Victim], show: int) -> bool:
    """Print what came of it; whether the mark was held."""
    caches = list(outcomes[0].by_cache)
    print(f"victims hijacked of {len(victims)} (share), by attack and direction")
    print(f"  {'attack':9}{'direction':11}{'texts':>6}" + "".join(f"{name:>16}" for name in caches))
    for one in outcomes:
        cells = []
        for name in caches:
            fallen = len({success.victim for success in one.by_cache[name]})
            cells.append(f"{fallen:>7} ({100 * fallen / len(victims):5.1f} %)")
        print(f"  {one.attack:9}{one.direction:11}{one.tries:>6}" + "".join(f"{cell:>16}" for cell in cells))
    totals = {name: len(hijacked(outcomes, name)) for name in caches}
    cells = [f"{count:>7} ({100 * count / len(victims):5.1f} %)" for count in totals.values()]
    print(f"  {'any of ' + ', '.join(MARKED):26}" + "".join(f"{cell:>16}" for cell in cells))
    print("\nchanged questions served, asked, by kind")
    [changed] = [one for one in outcomes if (one.attack, one.direction) == ("changed", "asked")]
    for kind in sorted({one.kind for one in victims}):
        total = sum(one.kind == kind for one in victims)
        counts = (sum(s.attack.kind == kind for s in changed.by_cache[name]) for name in caches)
        print(f"  {kind:26}" + "".join(f"{f'{count} / {total}':>16}" for count in counts))
    for one in outcomes:
        for success in one.by_cache["gate"][:show]:
            print(
                f"  {one.attack}, {one.direction}: {success.attack.text} | {victims[success.victim].question}"
            )
    share = totals["gate"] / len(victims)
    held = share <= HIJACKED_MAX
    limit = f"at most {100 * HIJACKED_MAX:.0f} %: {'pass' if held else 'FAIL'}"
    print(f"\nmark: {100 * share:.1f} % with the gate, {limit}")
    return held


def embedder() -> tuple[Embed, list[str]]:
    """The node's embedder, and the words of its vocabulary. Raises ``NodeError``."""
    from tokenizers import Tokenizer

    files = installed_files()
    engine = MiniLm.open(files, threads=1)
    vocabulary = Tokenizer.from_file(str(files.tokenizer)).get_vocab()
    words = sorted(word for word in vocabulary if word.isalpha() and word.isascii() and len(word) > 1)

    def embed(texts: Sequence[str]) -> Matrix:
        rows = []
        for start in range(0, len(texts), AT_ONCE):
            found = engine.embed([normalise(text) for text in texts[start : start + AT_ONCE]])
            rows += [np.zeros(DIM, np.float32) if one is None else np.asarray(one) for one in found]
        return np.stack(rows) if rows else np.zeros((0, DIM), np.float32)

    return embed, words


async def run(victims: Sequence[Victim], budget: int) -> list[Outcome]:
    """Make the attacks and run them against a fresh node."""
    clock = SystemClock()
    started = clock.monotonic()
    embed, words = embedder()
    attacks = [
        *joins(victims),
        *concats(victims),
        *suffixes(victims, embed, words, budget),
        *many(victims, embed, words, budget),
        *changes(victims),
    ]
    print(f"{len(attacks)} texts made in {clock.monotonic() - started:.0f} s, {budget} embeddings a search")
    started = clock.monotonic()
    with tempfile.TemporaryDirectory(prefix="bench-hijack-") as folder:
        async with fresh_node(Path(folder) / "node", {}) as node, session() as http:
            outcomes = await measure(Client(http, node.url), victims, attacks, embed)
    print(f"asked and planted in {clock.monotonic() - started:.0f} s\n")
    return outcomes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 1 if the mark is missed, 2 if it cannot run."""
    parser = argparse.ArgumentParser(prog="bench.hijack", description="attacks on the cache")
    parser.add_argument("--victims", type=int, help="only so many of the victims, taken from all topics")
    parser.add_argument(
        "--quick", action="store_true", help="few victims, short searches: does it run at all"
    )
    parser.add_argument("--show", type=int, default=0, help="successes to list of each attack")
    options = parser.parse_args(arguments)
    try:
        victims = read()
        count = options.victims or (VICTIMS_QUICK if options.quick else len(victims))
        victims = victims[:: max(1, len(victims) // count)][:count]
        outcomes = asyncio.run(run(victims, EMBEDDINGS_QUICK if options.quick else EMBEDDINGS))
    except (NodeError, OSError, RuntimeError, ValueError) as exc:
        print(f"cannot run: {exc}", file=sys.stderr)
        return 2
    return 0 if report(outcomes, victims, options.show) else 1


if __name__ == "__main__":
    sys.exit(main())
