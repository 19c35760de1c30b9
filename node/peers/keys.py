"""Which keys a root has certified for what, by its own signed key records (design section 9).

Rules:
1. A root alone speaks of its keys: a record counts if the root issued it and signed it with its own key.
2. Of several records about one key and use the newest counts, by their timestamps; a record dated more than
   ``AHEAD_MAX`` ahead of the clock is not taken (it may come again later).
3. A record that ends a key no later than it is dated revokes it: nothing that the key signed counts any more,
   whenever it says that it was signed, and for good. A stolen key can date what it signs as it likes.
4. Otherwise a key counts from its ``not_before`` up to, not including, its ``not_after``; by the time that
   what it signed bears.
5. A root has at most ``KEYS_MAX`` keys here; revocations of known keys are always taken.

Pure. The signature of a key record is checked by whoever decoded it (``node.record.decode``).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from node.record import KeyRecord, public_key_of
from node.tlog.notes import ED25519, Verifier

KEYS_MAX = 64
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
        if is_revocation:
            if before is None and len(self._newest) >= 2 * KEYS_MAX:
                return False
            self._revoked.add(place)
            self._newest[place] = record
            return True
        if before is None:
            if len(self._newest) >= KEYS_MAX:
                return False
        elif (record.timestamp, -record.not_after.timestamp()) <= (
            before.timestamp,
            -before.not_after.timestamp(),
        ):
            return False  # older, or of the same second and longer: the shorter life counts
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
