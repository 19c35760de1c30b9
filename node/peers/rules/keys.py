"""Which keys a root has certified for what, by its own signed key records (design section 9).

Rules (1, 3 and 4: design section 9 and what ``node.core.identity`` writes when a key is made, rotated or
dropped; 2 and 5: facts on trust B, clocks and bounds):
1. A root alone speaks of its keys: a record counts if the root issued it and signed it with its own key. The
   root is none of them unless it says so like of any other.
2. Of several records about one key and use the newest counts, by their timestamps; of those of one second the
   one that gives the shorter life. A record dated more than ``AHEAD_MAX`` ahead of the clock is not taken (it
   may come again later), so that none freezes what comes after it.
3. A record that ends a key no later than it is dated revokes it: nothing that the key signed counts any more,
   whenever it says that it was signed, and for good, whatever else is dated later. A stolen key can date what
   it signs as it likes.
4. Otherwise a key counts from its ``not_before`` up to, not including, its ``not_after``; by the time that
   what it signed bears. Where the second is not after the first it never counts.
5. A root has at most ``KEYS_MAX`` keys here, and ``PLACES_MAX`` with those that are revoked; revocations of
   known keys are always taken.
Below these bounds the order in which records come in makes no difference.

Pure. The signature of a key record is checked by whoever decoded it (``node.core.record.decode``).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from node.core.record import KeyRecord, public_key_of
from node.core.signed_note import ED25519, Verifier

KEYS_MAX = 64
PLACES_MAX = 128
AHEAD_MAX = timedelta(minutes=5)


class KeyRing:
    """The keys of one root."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._newest: dict[tuple[str, str], KeyRecord] = {}
        self._revoked: set[tuple[str, str]] = set()

    def add(self, record: KeyRecord, now: datetime | None = None) -> bool:
        """Take the root's word on a key; whether anything changed. ``now``: rule 2; None where the record was
        taken before."""
        if record.issuer != self.root or record.key != self.root:
            return False
        if now is not None and record.timestamp > now + AHEAD_MAX:
            return False
        place = (record.subject, record.use)
        if place in self._revoked:
            return False
        is_revocation = record.not_after <= record.timestamp
        before = self._newest.get(place)
        if before is None:
            if len(self._newest) >= PLACES_MAX:
                return False
            if not is_revocation and len(self._newest) - len(self._revoked) >= KEYS_MAX:
                return False
        elif not is_revocation and not _is_newer(record, before):
            return False
        if is_revocation:
            self._revoked.add(place)
        self._newest[place] = record
        return True

    def good(self, subject: str, use: str, at: datetime) -> str:
        """Whether what ``subject`` signed at ``at`` counts for ``use``: empty, or why it does not
        (``unknown_key``, ``key_revoked``, ``key_not_yet``, ``key_ended``)."""
        record = self._newest.get((subject, use))
        if record is None:
            return "unknown_key"
        if (subject, use) in self._revoked:
            return "key_revoked"
        if at < record.not_before:
            return "key_not_yet"
        return "key_ended" if at >= record.not_after else ""

    @property
    def revoked(self) -> frozenset[str]:
        """Subjects that are revoked for any use."""
        return frozenset(subject for subject, _ in self._revoked)

    def spans(self, use: str) -> dict[str, tuple[datetime, datetime]]:
        """Keys for ``use`` that are not revoked: from when on, and until before when, what they sign counts,
        as ``good`` has it."""
        return {
            subject: (record.not_before, record.not_after)
            for (subject, of_use), record in self._newest.items()
            if of_use == use and (subject, of_use) not in self._revoked
        }

    def subjects(self, use: str) -> list[str]:
        """Keys for ``use`` that are not revoked, those of the newest records first."""
        found = [
            record for place, record in self._newest.items() if place[1] == use and place not in self._revoked
        ]
        return [record.subject for record in sorted(found, key=lambda one: one.timestamp, reverse=True)]

    def log_verifiers(self, origin: str) -> list[Verifier]:
        """What verifies the checkpoints of this root's log ``origin`` (``<root id>.neuroswarm/<use>``, or a
        later epoch of it); none for a log that is not its own."""
        name = self.root.removeprefix("did:key:") + ".neuroswarm/"
        if not origin.startswith(name):
            return []
        use = origin.removeprefix(name).partition("/")[0]
        if use not in ("decisions", "publications"):
            return []
        return [Verifier(origin, ED25519, public_key_of(subject)) for subject in self.subjects(use)]


def _is_newer(record: KeyRecord, before: KeyRecord) -> bool:
    """Rule 2."""
    if record.timestamp != before.timestamp:
        return record.timestamp > before.timestamp
    if record.not_after != before.not_after:
        return record.not_after < before.not_after
    return record.not_before > before.not_before
