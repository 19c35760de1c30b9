"""How long extraction takes on 2,000 words of context (S0-09: 95th percentile under 20 ms).

    python -m bench.extraction

Method: three texts of 2,000 words or more, one call each in turn, ``ROUNDS`` rounds; beside each call a
yardstick in plain Python over the same text (case folding and counting its words), so that a slow or busy
machine shows in both. Printed are milliseconds of processor time and the ratio of the two 95th percentiles.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

import numpy as np

from node.answer.extractive import select

ROUNDS = 60
LIMIT_MS = 20.0
QUESTION = "Which members came to vote on proposal 77?"


def texts() -> list[str]:
    """Three contexts of at least 2,000 words: minutes, a list, long sentences."""
    minutes = " ".join(
        f"Sentence {n} tells how the committee, its members and proposal {n} came to a vote."
        for n in range(143)
    )
    listed = "\n".join(
        f"- proposal {n}: accepted by {n % 70} members in the vote of day {n}" for n in range(200)
    )
    long = ". ".join(
        " ".join(f"member {n} of group {group} spoke for the vote and" for n in range(20)) + " left"
        for group in range(12)
    )
    return [minutes, listed, long]


@dataclass(frozen=True, slots=True)
class Took:
    """Milliseconds of processor time of each call."""

    extraction_ms: list[float]
    yardstick_ms: list[float]

    @property
    def p95_ms(self) -> float:
        return float(np.percentile(self.extraction_ms, 95))

    @property
    def ratio(self) -> float:
        return self.p95_ms / float(np.percentile(self.yardstick_ms, 95))


def yardstick(text: str) -> int:
    """Some work that grows with the text and hangs on nothing of ours."""
    return sum(len(Counter(word.casefold() for word in text.split())) for _ in range(10))


def measure(rounds: int = ROUNDS) -> Took:
    """Time both, in turn."""
    took = Took([], [])
    contexts = texts()
    for _ in range(rounds):
        for text in contexts:
            began = time.process_time()
            select(QUESTION, [text])
            between = time.process_time()
            yardstick(text)
            took.extraction_ms.append((between - began) * 1_000)
            took.yardstick_ms.append((time.process_time() - between) * 1_000)
    return took


def main() -> int:
    """Print the figures; 1 when the limit does not hold."""
    took = measure()
    median = float(np.median(took.extraction_ms))
    print(f"extraction over 2,000 words, {len(took.extraction_ms)} calls, processor time:")
    print(f"  median {median:.1f} ms, 95th percentile {took.p95_ms:.1f} ms (limit {LIMIT_MS:.0f} ms)")
    print(f"  {took.ratio:.1f} times the yardstick's 95th percentile")
    return 0 if took.p95_ms <= LIMIT_MS else 1


if __name__ == "__main__":
    raise SystemExit(main())
