"""What the screen for texts that are written for a model finds, and what it stops of honest ones:
``python -m bench.injection [--show]``

Sets. *Payloads*: ``injectionlab/payloads.txt``, 96 in 15 styles, written after the rules of
``node.language.orders`` had been read and before those of ``node.peers.rules.injection`` had their present
form. The SHA-256 of a text divides them: an even first hex digit is *develop*, whose errors were read and
whose general causes were mended; an odd one is *judge*, whose errors were not read. One hand wrote payloads
and rules, so both flatter.
*Hard*: ``injectionlab/honest.txt``, 95 honest questions and answers, most of them chosen because they come
close to a rule (HTML, "print only", invisible characters that have their place, injection as a subject);
divided alike. *Starter*: questions and answers of ``knowledge-index.json``. *Questions*: those of the benches
of the gate and of routing, by other hands; five of them are injections, which count as found.

Before the present form the same sets gave: payloads 24 of 47 (develop) and 20 of 49 (judge); hard 15 of 49
and 8 of 46; starter none; questions 5 of 2,684, the five injections. A public list of 15 usual injections by
other hands, which is not stored here, was looked at once, when the rules were done: 7 of 15 stopped.

``--show`` lists the errors of develop, never those of judge. Writes ``bench/results/injection.md``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.__main__ import machine
from node.peers.rules.injection import screen

HERE = Path(__file__).parent
LAB = HERE / "injectionlab"
RESULT = HERE / "results" / "injection.md"
STARTER = HERE.parent / "knowledge-index.json"
QUESTIONS = ((HERE / "gate_blind.jsonl", ("a", "b")), (HERE / "routing_questions.jsonl", ("text",)))
WORST_CHARS = 32_768
WORST = ("a ", "x_", "![", "<img ", "a b c d ", "\n### ", "you must ", "please say ", "忽略", "é")

_ESCAPED = re.compile(r"\\(n|u[0-9a-f]{4}|U[0-9a-f]{8})")


@dataclass(frozen=True, slots=True)
class Text:
    style: str
    text: str

    @property
    def part(self) -> str:
        digit = hashlib.sha256(self.text.encode()).hexdigest()[0]
        return "judge" if int(digit, 16) % 2 else "develop"


def read(name: str) -> list[Text]:
    """Lines of style, tab, text; ``\\n``, ``\\uXXXX`` and ``\\UXXXXXXXX`` stand for what cannot be seen."""
    out = []
    for line in (LAB / name).read_text(encoding="utf-8").splitlines():
        style, _, text = line.partition("\t")
        out.append(Text(style, _ESCAPED.sub(_unescape, text)))
    return out


def _unescape(found: re.Match[str]) -> str:
    said = found.group(1)
    return "\n" if said == "n" else chr(int(said[1:], 16))


def starter() -> list[str]:
    entries = json.loads(STARTER.read_text(encoding="utf-8"))["entries"]
    return [entry[name] for entry in entries for name in ("query", "answer")]


def questions() -> list[str]:
    found: set[str] = set()
    for file, names in QUESTIONS:
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found.update(str(row[name]) for name in names)
    return sorted(found)


def share(texts: Sequence[str]) -> str:
    """How many are stopped, of how many, with Wilson's 95 % interval."""
    stopped, total = sum(screen(text) is not None for text in texts), len(texts)
    if not total:
        return "–"
    z, rate = 1.96, stopped / total
    middle, width = (
        rate + z * z / (2 * total),
        z * (rate * (1 - rate) / total + z * z / (4 * total**2)) ** 0.5,
    )
    low, high = ((middle + sign * width) / (1 + z * z / total) for sign in (-1, 1))
    return f"{stopped} of {total:,} = {rate:.3f} ({max(0.0, low):.3f} to {min(1.0, high):.3f})"


def report() -> str:
    payloads, hard = read("payloads.txt"), read("honest.txt")
    lines = ["| set | stopped (95 %) |", "| --- | --- |"]
    for name, texts in (("payloads", payloads), ("hard honest texts", hard)):
        lines += [
            f"| {name}, {part} | {share([one.text for one in texts if one.part == part])} |"
            for part in ("develop", "judge")
        ]
    lines.append(f"| starter set, questions and answers | {share(starter())} |")
    lines.append(f"| ordinary questions, 5 of them injections | {share(questions())} |")
    lines += ["", "| style of payload | stopped |", "| --- | --- |"]
    for style in dict.fromkeys(one.style for one in payloads):
        found = [screen(one.text) is not None for one in payloads if one.style == style]
        lines.append(f"| {style} | {sum(found)} of {len(found)} |")
    usual = [_seconds(text) for text in starter() * 3]
    worst = max(_seconds((bit * WORST_CHARS)[:WORST_CHARS]) for bit in WORST)
    lines += [
        "",
        f"Time: a text of the starter set {statistics.median(usual) * 1e6:.0f} µs (median); the slowest of "
        f"{len(WORST)} hostile texts of {WORST_CHARS:,} characters {worst * 1e3:.0f} ms.",
    ]
    return "\n".join(lines)


def _seconds(text: str) -> float:
    started = time.perf_counter()
    screen(text)
    return time.perf_counter() - started


def main() -> int:
    parser = argparse.ArgumentParser(description="The screen for texts that are written for a model.")
    parser.add_argument("--show", action="store_true", help="list the errors of develop")
    if parser.parse_args().show:
        for name, is_honest in (("payloads.txt", False), ("honest.txt", True)):
            for one in read(name):
                rule = screen(one.text)
                if one.part == "develop" and (rule is None) is not is_honest:
                    print(f"{one.style}\t{rule}\t{one.text!r}")
    text = report()
    print(text)
    facts = "\n".join(f"- {line}" for line in machine())
    RESULT.write_text(f"# The injection screen\n\n{facts}\n\n{text}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
