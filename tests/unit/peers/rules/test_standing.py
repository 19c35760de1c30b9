from __future__ import annotations

from dataclasses import replace

import pytest

from node.core.model import PPM
from node.peers.rules.standing import SHARE_PPM, outvoted, trust_ppm
from node.peers.rules.values import SERVED, Level, Standing, Tier
from tests.each import each

TRUSTED = Standing("a", Level.TRUSTED, "g")


def test_of_a_root_with_no_history_the_tier_s_share_counts() -> None:
    assert trust_ppm(TRUSTED, Tier.VERIFIED) == PPM
    assert trust_ppm(TRUSTED, Tier.TRUSTED) == SHARE_PPM[Tier.TRUSTED]
    assert trust_ppm(TRUSTED, Tier.QUORUM) == SHARE_PPM[Tier.QUORUM]
    assert trust_ppm(TRUSTED, Tier.UNTRUSTED) == 0
    assert PPM > SHARE_PPM[Tier.TRUSTED] > SHARE_PPM[Tier.QUORUM] > 0


def test_what_a_root_is_sure_of_is_served_until_it_was_wrong_a_few_times() -> None:
    """Against the threshold of 0.80 at which the design has an answer stored."""

    def served(confidence: float, refuted: int) -> bool:
        return confidence * trust_ppm(replace(TRUSTED, refuted=refuted), Tier.TRUSTED) / PPM >= 0.8

    assert served(0.82, 0)
    assert served(0.98, 2)
    assert not served(0.82, 1)
    assert not served(1.0, 3)


@pytest.mark.parametrize("tier", [Tier.TRUSTED, Tier.QUORUM])
def test_what_is_refuted_weighs_more_than_a_verdict(tier: Tier) -> None:
    refuted = trust_ppm(replace(TRUSTED, refuted=1), tier)
    invalid = trust_ppm(replace(TRUSTED, invalid=1), tier)
    assert refuted < invalid < trust_ppm(TRUSTED, tier)
    assert trust_ppm(replace(TRUSTED, invalid=1, valid=10), tier) > invalid


@pytest.mark.parametrize("tier", sorted(SERVED - {Tier.LOCAL}))
def test_nothing_of_a_root_that_is_not_listened_to_counts(tier: Tier) -> None:
    assert trust_ppm(replace(TRUSTED, dropped="equivocation"), tier) == 0
    assert trust_ppm(replace(TRUSTED, level=Level.BLOCKED), tier) == 0


def test_what_was_recomputed_here_is_as_our_own_whoever_said_it() -> None:
    liar = replace(TRUSTED, level=Level.UNKNOWN, refuted=1_000, invalid=1_000)
    assert trust_ppm(liar, Tier.VERIFIED) == PPM


STANDINGS = {
    one.root: one
    for one in (
        TRUSTED,
        Standing("alone", Level.TRUSTED),
        Standing("b", Level.KNOWN, "h"),
        Standing("b2", Level.KNOWN, "h"),
        Standing("c", Level.KNOWN, "i"),
        Standing("no group", Level.KNOWN),
        Standing("stranger", Level.UNKNOWN, "j"),
        Standing("blocked", Level.BLOCKED, "k"),
        Standing("two heads", Level.TRUSTED, "l", "equivocation"),
    )
}


@each(
    ("statements", "is_out"),
    [
        ({}, False),
        ({"a": "valid"}, False),
        ({"a": "invalid"}, True),
        ({"alone": "invalid"}, True),
        ({"b": "invalid"}, True),
        ({"a": "valid", "b": "invalid"}, False),
        ({"a": "valid", "b": "invalid", "b2": "invalid"}, False),
        ({"a": "valid", "b": "invalid", "c": "invalid"}, True),
        ({"b": "valid", "b2": "invalid"}, True),
        ({"b": "valid", "b2": "valid", "c": "invalid", "a": "invalid"}, True),
        ({"no group": "invalid", "stranger": "invalid", "blocked": "invalid", "nobody": "invalid"}, False),
        ({"two heads": "invalid"}, False),
    ],
)
def test_more_votes_against_than_for_take_a_record_out(statements: dict[str, str], is_out: bool) -> None:
    assert outvoted(statements, STANDINGS) is is_out
    assert outvoted(dict(reversed(statements.items())), STANDINGS) is is_out


def test_an_issuer_has_no_vote_for_its_own_record_but_one_against_it() -> None:
    assert outvoted({"a": "valid", "b": "invalid"}, STANDINGS, issuer="a")
    assert outvoted({"a": "invalid"}, STANDINGS, issuer="a")
    assert not outvoted({"a": "valid"}, STANDINGS, issuer="a")
