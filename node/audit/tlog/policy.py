"""The policy file: which logs and witnesses are known, and which sets of cosignatures are enough.

Promises: the language of C2SP tlog-policy, parsed strictly, with the line number in each complaint; the
file's names are octets without meaning outside it. Bounded: 512 KiB and 256 each of logs, witnesses and
groups. Only ``Rejected`` is raised.
Must not know: how checkpoints are fetched or signatures checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from node.core.errors import Rejected
from node.core.signed_note import Verifier

POLICY_BYTES_MAX = 512 * 1024
ITEMS_MAX = 256
NO_QUORUM = "none"

_FORBIDDEN = re.compile(rb"[^\t\n\x20-\x7e\x80-\xff]")
_BLANKS = re.compile(rb"[ \t]+")
_COUNT = re.compile(rb"[1-9][0-9]{0,3}")


class NoQuorum(Rejected):
    """The checkpoint is signed by its log, and too few witnesses have cosigned it."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """``log <vkey> [<url>]``."""

    verifier: Verifier
    url: str | None

    @property
    def vkey(self) -> str:
        return self.verifier.vkey


@dataclass(frozen=True, slots=True)
class WitnessLine:
    """``witness <name> <vkey> [<url>]``: the name is the policy's own, not the key's."""

    name: str
    verifier: Verifier
    url: str | None


@dataclass(frozen=True, slots=True)
class _Group:
    name: bytes
    threshold: int
    members: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class WitnessPolicy:
    """A parsed policy. Equal files give equal policies."""

    logs: tuple[LogLine, ...]
    witnesses: tuple[WitnessLine, ...]
    _names: tuple[bytes, ...]
    _groups: tuple[_Group, ...]
    _quorum: bytes

    @classmethod
    def parse(cls, text: bytes) -> WitnessPolicy:
        """Read an untrusted file's bytes. Raises ``Rejected`` naming the line."""
        reading = _Reading()
        if len(text) > POLICY_BYTES_MAX:
            raise Rejected(f"a witness policy has at most {POLICY_BYTES_MAX} bytes")
        # Editors that leave out the last LF are common; nothing else ends a line.
        for number, line in enumerate(text.split(b"\n"), start=1):
            try:
                reading.take(line)
            except Rejected as exc:
                raise Rejected(f"line {number} of the witness policy: {exc}") from exc
        if reading.quorum is None:
            raise Rejected(
                "the witness policy has no quorum line: add 'quorum none' or name a witness or group"
            )
        return cls(
            tuple(reading.logs),
            tuple(reading.witnesses.values()),
            tuple(reading.witnesses),
            tuple(reading.groups.values()),
            reading.quorum,
        )

    @property
    def requires_any(self) -> bool:
        """Whether any cosignature is needed at all."""
        return self._quorum != NO_QUORUM.encode()

    def satisfied(self, cosigner_verifiers: Collection[Verifier]) -> bool:
        """Whether valid cosignatures by exactly these keys make the quorum."""
        if not self.requires_any:
            return True
        present = set(cosigner_verifiers)
        witnessed = {
            name for name, line in zip(self._names, self.witnesses, strict=True) if line.verifier in present
        }
        # Groups name only what stands above them, so one pass in the file's order settles all.
        for group in self._groups:
            if sum(member in witnessed for member in group.members) >= group.threshold:
                witnessed.add(group.name)
        return self._quorum in witnessed


class _Reading:
    """The lines so far."""

    def __init__(self) -> None:
        self.logs: list[LogLine] = []
        self.witnesses: dict[bytes, WitnessLine] = {}
        self.groups: dict[bytes, _Group] = {}
        self.quorum: bytes | None = None
        self._members: set[bytes] = set()

    def take(self, line: bytes) -> None:
        if _FORBIDDEN.search(line):
            raise Rejected("there is a control character other than a tab (lines end in LF alone)")
        words = [word for word in _BLANKS.split(line) if word]
        if not words or words[0].startswith(b"#"):
            return
        rules: Mapping[bytes, Callable[[list[bytes]], None]] = {
            b"log": self._log,
            b"witness": self._witness,
            b"group": self._group,
            b"quorum": self._set_quorum,
        }
        rule = rules.get(words[0])
        if rule is None:
            raise Rejected(f"{_shown(words[0])!r} is none of log, witness, group and quorum")
        rule(words[1:])

    def _log(self, words: list[bytes]) -> None:
        if len(words) not in (1, 2):
            raise Rejected("a log is written: log <vkey> [<url>]")
        verifier = _verifier(words[0])
        if any(verifier.public == other.verifier.public for other in self.logs):
            raise Rejected("another log has the same key")
        _check_room(self.logs, "logs")
        self.logs.append(LogLine(verifier, _shown(words[1]) if len(words) > 1 else None))

    def _witness(self, words: list[bytes]) -> None:
        if len(words) not in (2, 3):
            raise Rejected("a witness is written: witness <name> <vkey> [<url>]")
        self._check_new(words[0])
        verifier = _verifier(words[1])
        if not verifier.is_cosigner:
            raise Rejected(f"the key of {verifier.name} does not cosign: a witness has kind 0x04 or 0x06")
        if any(verifier.public == other.verifier.public for other in self.witnesses.values()):
            raise Rejected("another witness has the same key")
        _check_room(self.witnesses, "witnesses")
        url = _shown(words[2]) if len(words) > 2 else None
        self.witnesses[words[0]] = WitnessLine(_shown(words[0]), verifier, url)

    def _group(self, words: list[bytes]) -> None:
        if len(words) < 3:
            raise Rejected("a group is written: group <name> all|any|<k> <member>...")
        name, rule, *members = words
        self._check_new(name)
        for member in members:
            if member not in self.witnesses and member not in self.groups:
                raise Rejected(f"{_shown(member)!r} is not defined above")
            if member in self._members:
                raise Rejected(f"{_shown(member)!r} is a member already; each name is a member once at most")
            self._members.add(member)
        if rule in (b"all", b"any"):
            threshold = len(members) if rule == b"all" else 1
        elif _COUNT.fullmatch(rule) and int(rule) <= len(members):
            threshold = int(rule)
        else:
            raise Rejected(f"{_shown(rule)!r} is none of all, any and a number from 1 to {len(members)}")
        _check_room(self.groups, "groups")
        self.groups[name] = _Group(name, threshold, tuple(members))

    def _set_quorum(self, words: list[bytes]) -> None:
        if len(words) != 1:
            raise Rejected("a quorum is written: quorum <name>|none")
        if self.quorum is not None:
            raise Rejected("there is a second quorum")
        name = words[0]
        if name != NO_QUORUM.encode() and name not in self.witnesses and name not in self.groups:
            raise Rejected(f"{_shown(name)!r} is not defined above")
        self.quorum = name

    def _check_new(self, name: bytes) -> None:
        if name == NO_QUORUM.encode() or name in self.witnesses or name in self.groups:
            raise Rejected(f"the name {_shown(name)!r} is taken")


def _check_room(items: Collection[object], what: str) -> None:
    if len(items) >= ITEMS_MAX:
        raise Rejected(f"there are more than {ITEMS_MAX} {what}")


def _verifier(word: bytes) -> Verifier:
    try:
        return Verifier.from_vkey(word.decode("utf-8"))
    except UnicodeDecodeError as exc:
        raise Rejected("the verifier key is not UTF-8") from exc


def _shown(word: bytes) -> str:
    """Octets for people: two names may look alike, so names are compared as octets."""
    return word.decode("utf-8", "backslashreplace")
