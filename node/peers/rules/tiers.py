"""Why a peer's record may be served here, or that it may not (design section 9, facts on trust, B).

Rules (design section 9, tiers; facts on trust B, "Sybil quorum" and "one trust group, many keys"):
1. What was recomputed here and found wrong is untrusted, whoever says it.
2. What was recomputed here and found right is verified, whoever says it, unless the operator has blocked the
   issuer or it was dropped.
3. The operator's word on the issuer's root comes next: trusted.
4. A quorum are ``quorum`` trust groups, named by the operator, that say the same. Keys and roots cost
   nothing, so they are never counted: a group has one vote, however many roots are in it; roots in no group
   have none.
5. A group whose records contradict each other has no vote. Where a trusted root says something else there is
   no quorum: the operator's word is contradicted.
6. What was recomputed and found wrong says nothing, for or against.

Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from node.peers.rules.values import Held, Level, Standing, Tier


def tier_of(standing: Standing, *, is_verified: bool | None, groups_agreeing: int, quorum: int) -> Tier:
    """The tier of a record whose issuer has this standing. ``is_verified``: what recomputing it came to;
    None: it was not, or cannot be."""
    if is_verified is False or standing.unheard:
        return Tier.UNTRUSTED
    if is_verified:
        return Tier.VERIFIED
    if standing.level is Level.TRUSTED:
        return Tier.TRUSTED
    has_vote = standing.level is Level.KNOWN and standing.group is not None
    return Tier.QUORUM if has_vote and groups_agreeing >= max(1, quorum) else Tier.UNTRUSTED


def groups_agreeing(
    rivals: Sequence[Held], agreed: str, standings: Mapping[str, Standing], revoked: Collection[str]
) -> int:
    """How many trust groups say ``agreed`` (``Held.agreed``) among the records to one question. ``revoked``:
    keys whose records do not count, each by the word of the root whose records they sign: nobody's word
    revokes another's."""
    if not agreed:
        return 0
    said: dict[str, set[str]] = {}
    for one in rivals:
        standing = standings.get(one.issuer)
        if standing is None or not standing.has_voice:
            continue
        if not one.agreed or one.key in revoked:
            continue
        if standing.level is Level.TRUSTED and one.agreed != agreed:
            return 0
        if standing.group is not None:
            said.setdefault(standing.group, set()).add(one.agreed)
    return sum(answers == {agreed} for answers in said.values())
