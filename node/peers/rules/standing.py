"""How much a root's word counts here, in figures (design section 9).

Rules (1 and 3: design section 9; the figures are our own):
1. ``trust_ppm`` is what a record's confidence is multiplied by: the tier's share times the share of the
   issuer's records that held. Never above one: a peer's confidence is an upper bound. Nothing of a root that
   is blocked or dropped counts.
2. The share that held is (good + PRIOR) / (good + PRIOR + bad), where good are our users' verdicts ``valid``
   and bad their verdicts ``invalid``, each counting ``BAD_WEIGHT`` times, and records refuted by recomputing,
   each ``REFUTED_WEIGHT`` times. It never rises with what is bad nor falls with what is good. What a peer
   says of itself, or what unknown roots say, is not in it.
3. Statements on a record take it out of service where more votes say ``invalid`` than ``valid``. A trust
   group has one vote (``invalid`` if any root in it says so); a trusted root in no group has its own; nobody
   else has any. That an issuer calls its own record valid says nothing.

Pure. Confidence is stored when it is 0.80 or more (design section 6), so a trusted root of which
nothing bad is known is served with what it is sure of by 0.82 and more; after a few refuted records only with
what it is nearly certain of.
"""

from __future__ import annotations

from collections.abc import Mapping

from node.core.model import PPM
from node.peers.rules.values import Level, Standing, Tier

PRIOR = 20
BAD_WEIGHT = 1
REFUTED_WEIGHT = 2
SHARE_PPM: Mapping[Tier, int] = {
    Tier.LOCAL: PPM,
    Tier.VERIFIED: PPM,
    Tier.TRUSTED: 980_000,
    Tier.QUORUM: 960_000,
    Tier.UNTRUSTED: 0,
}
"""Recomputed here: as our own. Trusted: somebody else's word. Quorum: several strangers' word."""

_TALLY_MAX = 10**9


def trust_ppm(standing: Standing, tier: Tier) -> int:
    """Rules 1 and 2, in millionths; 0 for what is not served."""
    share = SHARE_PPM[tier]
    if tier is not Tier.LOCAL and standing.unheard:
        return 0
    if tier in (Tier.LOCAL, Tier.VERIFIED) or not share:
        return share
    good = PRIOR + min(max(0, standing.valid), _TALLY_MAX)
    bad = BAD_WEIGHT * max(0, standing.invalid) + REFUTED_WEIGHT * max(0, standing.refuted)
    return share * good // (good + bad)


def outvoted(statements: Mapping[str, str], standings: Mapping[str, Standing], issuer: str = "") -> bool:
    """Rule 3. ``statements``: root → its newest verdict on a record of ``issuer``."""
    votes: dict[tuple[str, str], bool] = {}
    for root, verdict in statements.items():
        standing = standings.get(root)
        if standing is None or not standing.has_voice:
            continue
        if root == issuer and verdict == "valid":
            continue
        if standing.group is not None:
            voter = ("group", standing.group)
        elif standing.level is Level.TRUSTED:
            voter = ("root", root)
        else:
            continue
        votes[voter] = votes.get(voter, False) or verdict == "invalid"
    against = sum(votes.values())
    return against > len(votes) - against
