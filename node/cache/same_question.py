"""When two questions are so much the same that one stored answer stands for both: what write-back merges by.

Stricter than a hit: no veto of the gate, and the same words but for order-free filler, or the same keyword
key. Pure, total, bounded, symmetric. Must not know: answers, records, stores.
"""

from __future__ import annotations

from node.cache.keys import keyword_key
from node.cache.matching.gate import agree


def same_question(one: str, other: str) -> bool:
    """Whether an answer to one question is an answer to the other, beyond doubt."""
    verdict = agree(one, other, deterministic=True)
    if verdict.veto is not None:
        return False
    if verdict.reason == "same words":
        return True
    key = keyword_key(one)
    return key is not None and key == keyword_key(other)
