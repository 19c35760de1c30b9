from __future__ import annotations

from itertools import product

import pytest

from node.peers.standing import outvoted, trust_ppm
from node.peers.tiers import groups_agreeing, tier_of
from node.peers.values import SERVED, Level, Standing, Tier
from tests.peer_builders import held


def known(*names: str, group: str | None = None, level: Level = Level.KNOWN) -> dict[str, Standing]:
    return {name: Standing(name, level, group or f"group of {name}") for name in names}


def test_the_operators_word_makes_trusted_and_nothing_else_does() -> None:
    found = {
        (level, group): tier_of(Standing("r", level, group), is_verified=None, groups_agreeing=0, quorum=2)
        for level, group in product(Level, (None, "g"))
    }
    assert {key for key, tier in found.items() if tier in SERVED} == {
        (Level.TRUSTED, None),
        (Level.TRUSTED, "g"),
    }


@pytest.mark.parametrize("level", list(Level))
def test_what_was_refuted_is_never_served(level: Level) -> None:
    tier = tier_of(Standing("r", level, "g"), is_verified=False, groups_agreeing=9, quorum=1)
    assert tier is Tier.UNTRUSTED


def test_what_was_recomputed_is_served_whoever_says_it_but_for_those_who_are_out() -> None:
    def tier(standing: Standing) -> Tier:
        return tier_of(standing, is_verified=True, groups_agreeing=0, quorum=2)

    assert tier(Standing("r")) is Tier.VERIFIED
    assert tier(Standing("r", Level.BLOCKED)) is Tier.UNTRUSTED
    assert tier(Standing("r", Level.TRUSTED, dropped="equivocation")) is Tier.UNTRUSTED


def test_a_quorum_counts_groups_and_never_keys() -> None:
    fifty = [f"r{number}" for number in range(50)]
    rivals = [held(root) for root in fifty]
    assert groups_agreeing(rivals, "yes", known(*fifty, group="one"), ()) == 1
    assert groups_agreeing(rivals, "yes", {root: Standing(root) for root in fifty}, ()) == 0
    nameless = {root: Standing(root, Level.KNOWN) for root in fifty}
    assert groups_agreeing(rivals, "yes", nameless, ()) == 0
    assert groups_agreeing(rivals, "yes", known("r0", "r1"), ()) == 2


def test_a_group_that_contradicts_itself_and_keys_that_are_revoked_have_no_vote() -> None:
    standings = known("a", "b", group="one") | known("c")
    rivals = [held("a"), held("b", "no"), held("c")]
    assert groups_agreeing(rivals, "yes", standings, ()) == 1
    assert groups_agreeing([held("c", key="k")], "yes", standings, {"k"}) == 0


def test_the_word_of_a_trusted_root_stands_against_any_quorum() -> None:
    standings = known("a", "b", "c") | {"t": Standing("t", Level.TRUSTED)}
    rivals = [held("a"), held("b"), held("c"), held("t", "no")]
    assert groups_agreeing(rivals, "yes", standings, ()) == 0
    assert groups_agreeing(rivals[:3], "yes", standings, ()) == 3


def test_who_is_dropped_or_blocked_has_no_vote() -> None:
    standings = {
        "a": Standing("a", Level.BLOCKED, "x"),
        "b": Standing("b", Level.KNOWN, "y", dropped="equivocation"),
        "c": Standing("c", Level.KNOWN, "z"),
    }
    assert groups_agreeing([held("a"), held("b"), held("c")], "yes", standings, ()) == 1


@pytest.mark.parametrize("tier", list(Tier))
def test_trust_never_rises_with_what_is_bad_nor_falls_with_what_is_good(tier: Tier) -> None:
    def share(**more: int) -> int:
        return trust_ppm(Standing("r", Level.TRUSTED, None, "", **more), tier)

    for valid, invalid, refuted in product((0, 1, 5, 1_000), repeat=3):
        here = share(valid=valid, invalid=invalid, refuted=refuted)
        assert 0 <= here <= 1_000_000
        assert here <= share(valid=valid + 1, invalid=invalid, refuted=refuted)
        assert here >= share(valid=valid, invalid=invalid + 1, refuted=refuted)
        assert here >= share(valid=valid, invalid=invalid, refuted=refuted + 1)


def test_an_untrusted_word_is_worth_nothing_and_a_new_trusted_one_is_served() -> None:
    assert trust_ppm(Standing("r", Level.TRUSTED), Tier.UNTRUSTED) == 0
    assert trust_ppm(Standing("r", Level.TRUSTED), Tier.TRUSTED) * 0.85 >= 800_000


def test_statements_are_counted_by_group_and_strangers_have_none() -> None:
    standings = known("a", "b", group="one") | known("c", "d")
    assert not outvoted({f"s{number}": "invalid" for number in range(50)}, standings)
    assert outvoted({"a": "invalid", "b": "valid"}, standings)
    assert not outvoted({"a": "invalid", "c": "valid"}, standings)
    assert outvoted({"a": "invalid", "c": "valid", "d": "invalid"}, standings)
    assert outvoted({"t": "invalid"}, {"t": Standing("t", Level.TRUSTED)})
    assert not outvoted({"k": "invalid"}, {"k": Standing("k", Level.KNOWN)})
