from __future__ import annotations

import itertools

import pytest

from node.core.ipld.cid import Cid
from node.peers.rules.tiers import groups_agreeing, tier_of
from node.peers.rules.values import SERVED, Held, Level, Standing, Tier
from tests.peer_builders import held

RIGHT, WRONG = "a" * 64, "b" * 64


def says(issuer: str, agreed: str = RIGHT, key: str = "") -> Held:
    cid = Cid.of(f"{issuer} {agreed} {key}".encode())
    return held(issuer, agreed, cid=cid, key=key or f"key of {issuer}")


def known(root: str, group: str | None, level: Level = Level.KNOWN, dropped: str = "") -> Standing:
    return Standing(root, level, group, dropped)


A, B, TRUSTED = known("a", "g"), known("b", "h"), known("t", None, Level.TRUSTED)
NONE: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("standing", "is_verified", "groups", "tier"),
    [
        (Standing("a"), None, 0, Tier.UNTRUSTED),
        (Standing("a"), None, 99, Tier.UNTRUSTED),
        (Standing("a"), True, 0, Tier.VERIFIED),
        (known("a", None, Level.TRUSTED), None, 0, Tier.TRUSTED),
        (known("a", "g", Level.TRUSTED), True, 3, Tier.VERIFIED),
        (known("a", "g"), None, 1, Tier.UNTRUSTED),
        (known("a", "g"), None, 2, Tier.QUORUM),
        (known("a", None), None, 2, Tier.UNTRUSTED),
        (known("a", "g", Level.BLOCKED), True, 9, Tier.UNTRUSTED),
        (known("a", "g", Level.TRUSTED, "equivocation"), True, 9, Tier.UNTRUSTED),
    ],
)
def test_the_first_word_for_it(standing: Standing, is_verified: bool | None, groups: int, tier: Tier) -> None:
    assert tier_of(standing, is_verified=is_verified, groups_agreeing=groups, quorum=2) is tier


def test_what_was_refuted_is_never_served_whoever_says_it() -> None:
    for level, group, groups in itertools.product(Level, (None, "g"), (0, 1, 9)):
        refuted = tier_of(known("a", group, level), is_verified=False, groups_agreeing=groups, quorum=1)
        assert refuted not in SERVED


@pytest.mark.parametrize("quorum", [0, -1])
def test_a_quorum_of_nobody_is_none(quorum: int) -> None:
    standing = known("a", "g")
    assert tier_of(standing, is_verified=None, groups_agreeing=0, quorum=quorum) is Tier.UNTRUSTED


def votes(rivals: list[Held], *standings: Standing, for_: str = RIGHT, revoked: frozenset[str] = NONE) -> int:
    return groups_agreeing(rivals, for_, {one.root: one for one in standings}, revoked)


def test_fifty_keys_of_one_group_have_one_vote() -> None:
    roots = [f"root {number}" for number in range(50)]
    standings = [known(root, "sybils") for root in roots]
    assert votes([says(root, WRONG) for root in roots], *standings, for_=WRONG) == 1
    one_root = [says("root 0", WRONG, f"key {number}") for number in range(50)]
    assert votes(one_root, *standings, for_=WRONG) == 1


def test_strangers_and_roots_of_no_group_have_none() -> None:
    standings = [
        known("stranger", "g", Level.UNKNOWN),
        known("alone", None),
        known("blocked", "h", Level.BLOCKED),
        known("two heads", "i", Level.KNOWN, "equivocation"),
        known("two heads, once trusted", "j", Level.TRUSTED, "equivocation"),
    ]
    rivals = [*(says(one.root) for one in standings), says("never heard of")]
    assert votes(rivals, *standings) == 0


def test_each_named_group_has_one() -> None:
    standings = [known("a", "g"), known("b", "h"), known("c", "h"), known("d", "i", Level.TRUSTED)]
    assert votes([says(root) for root in "abcd"], *standings) == 3


def test_a_group_that_contradicts_itself_has_none() -> None:
    standings = [known("a", "g"), known("b", "g"), known("c", "h")]
    rivals = [says("a"), says("b", WRONG), says("c")]
    assert [votes(rivals, *standings, for_=one) for one in (RIGHT, WRONG)] == [1, 0]


@pytest.mark.parametrize("group", [None, "g", "own"])
def test_a_trusted_root_that_says_something_else_blocks_a_quorum(group: str | None) -> None:
    rivals = [says("a"), says("b"), says("t", WRONG)]
    assert votes(rivals, A, B, known("t", group, Level.TRUSTED)) == 0


def test_a_revoked_key_says_nothing_for_or_against() -> None:
    rivals = [says("a"), says("b", key="stolen"), says("t", WRONG, key="stolen too")]
    assert votes(rivals, A, B, TRUSTED, revoked=frozenset({"stolen", "stolen too"})) == 1


def test_what_was_refuted_says_nothing_for_or_against() -> None:
    assert votes([says("a"), says("b"), says("b", ""), says("t", "")], A, B, TRUSTED) == 2
    assert votes([says("b", "")], A, B, TRUSTED, for_="") == 0
