"""API keys: who may call, for whom, what and how much; and what each has used today.

Promises:
- A key is told once, when it is made. Here lies its SHA-256: 256 random bits need no slower hash.
- A change is durable before it is told, and holds from then on (``epoch`` counts changes).
- A key that was revoked or has expired stays listed, until ``KEYS_MAX`` are there and it is among the oldest.
- What was used is counted by UTC day and kept every few seconds (``flush``): a killed node forgets the last
  of it. A clock that goes back gives nothing back.
Both files are for their owner alone and in no backup: one that comes back would bring revoked keys with it.
Event loop only, but for ``open``. Must not know: requests, headers.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import TypeVar

import msgspec

from node.core import state_file
from node.core.caller import LOCAL
from node.core.clock import Clock, random_bytes
from node.core.errors import BadInput, BudgetSpent, CorruptState, NotFound, Rejected
from node.core.files import put

KEYS_FILE = "api_keys.json"
USED_FILE = "api_keys_used.json"
PREFIX = "nsk_"
"""What every key begins with: a text that does not is none of ours."""
SECRET_BYTES = 32
READ, WRITE, PUBLISH, ADMIN = "read", "write", "publish", "admin"
SCOPES = (READ, WRITE, PUBLISH, ADMIN)
"""What a key may do: ask and look up; store and take back; store for peers; everything."""
KEYS_MAX = 10_000
NAME_CHARS_MAX = 64
COUNT_MAX = 10**9
LIFETIME_S_MAX = 100 * 365 * 86_400
REQUESTS, MODEL_CALLS = "requests", "model_calls"

_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_RESERVED = frozenset({LOCAL, "peers", "operator", "shared", "public"})
"""Names that mean something of their own here."""
_KEY = re.compile(r"nsk_([a-z2-7]{10})_([A-Za-z0-9_-]{43})")
_BYTES_MAX = 16 * 2**20
_NOBODY = hashlib.sha256(b"").hexdigest()

_Read = TypeVar("_Read")


def tenant_of(text: object) -> str:
    """``text`` as the name of a tenant. Raises ``BadInput``."""
    if not isinstance(text, str) or not _TENANT.fullmatch(text):
        raise BadInput(
            "a tenant is named by 1 to 64 letters, digits, dots, dashes and underscores",
            field="tenant",
            limit="64 characters",
        )
    if text.lower() in _RESERVED:
        raise BadInput(f"no tenant may be named {text}: it has a meaning of its own here", field="tenant")
    return text


class ApiKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One key without its secret. ``digest``: hex SHA-256 of its whole text. Of the numbers 0 is none: no
    limit of its own (``per_minute``: that of the settings)."""

    id: str
    tenant: str
    scopes: tuple[str, ...]
    digest: str
    created: datetime
    name: str = ""
    expires: datetime | None = None
    revoked: datetime | None = None
    requests_per_day: int = 0
    model_calls_per_day: int = 0
    per_minute: int = 0

    def may(self, scope: str) -> bool:
        return scope in self.scopes or ADMIN in self.scopes

    def why_not(self, now: datetime) -> str:
        """Why it does not hold; empty where it does."""
        if self.revoked is not None:
            return "this key was revoked"
        if self.expires is not None and self.expires <= now:
            return "this key has expired"
        return ""


class Used(msgspec.Struct):
    """Of one key on one day (``date.toordinal``)."""

    day: int = 0
    requests: int = 0
    model_calls: int = 0


class _Keys(msgspec.Struct, forbid_unknown_fields=True):
    v: int
    keys: list[ApiKey]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A key to be made."""

    tenant: str
    scopes: Sequence[str] = (READ, WRITE)
    name: str = ""
    lifetime_s: int | None = None
    requests_per_day: int = 0
    model_calls_per_day: int = 0
    per_minute: int = 0


class ApiKeys:
    """Build with ``open``; without a folder nothing is kept."""

    def __init__(
        self,
        folder: Path | None,
        clock: Clock,
        keys: Sequence[ApiKey] = (),
        used: dict[str, Used] | None = None,
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._by_id = {key.id: key for key in keys}
        self._used = used or {}
        self._is_kept = True
        self._writing = asyncio.Lock()
        self.epoch = 0

    @classmethod
    def open(cls, folder: Path, clock: Clock) -> ApiKeys:
        """Blocking. Raises ``CorruptState``, ``Unavailable``."""
        kept = _read(folder / KEYS_FILE, _Keys)
        if kept is not None and kept.v != 1:
            raise CorruptState(f"{folder / KEYS_FILE} was written by a newer version of this program")
        used = _read(folder / USED_FILE, dict[str, Used])
        return cls(folder, clock, () if kept is None else kept.keys, used)

    # --- who is who ---

    @property
    def is_empty(self) -> bool:
        """No key was ever made."""
        return not self._by_id

    def has_usable(self) -> bool:
        """Whether there is a key that holds now."""
        now = self._clock.now()
        return any(not key.why_not(now) for key in self._by_id.values())

    def find(self, text: str) -> ApiKey | None:
        """The key whose text this is, one that holds no more too."""
        match = _KEY.fullmatch(text)
        key = None if match is None else self._by_id.get(match[1])
        digest = _NOBODY if key is None else key.digest
        is_it = hmac.compare_digest(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(), digest)
        return key if is_it else None

    def of(self, name: str) -> ApiKey | None:
        """The key of this id as it is now."""
        return self._by_id.get(name)

    def listed(self) -> list[tuple[ApiKey, Used]]:
        """All, the oldest first, with what each has used today."""
        today = self._clock.now().toordinal()
        found = sorted(self._by_id.values(), key=_age)
        unused = Used(today)
        return [
            (key, used if (used := self._used.get(key.id, unused)).day >= today else unused) for key in found
        ]

    # --- changes ---

    async def create(self, wanted: Wanted) -> tuple[str, ApiKey]:
        """A new key: its text, which nobody can have again, and what is kept of it. Raises ``BadInput``,
        ``Unavailable``."""
        _check(wanted)
        now = self._clock.now().replace(microsecond=0)
        name = base64.b32encode(random_bytes(10)).decode().lower()[:10]
        secret = base64.urlsafe_b64encode(random_bytes(SECRET_BYTES)).decode().rstrip("=")
        text = f"{PREFIX}{name}_{secret}"
        key = ApiKey(
            id=name,
            tenant=tenant_of(wanted.tenant),
            scopes=tuple(scope for scope in SCOPES if scope in wanted.scopes),
            digest=hashlib.sha256(text.encode()).hexdigest(),
            created=now,
            name=wanted.name,
            expires=None if wanted.lifetime_s is None else now + timedelta(seconds=wanted.lifetime_s),
            requests_per_day=wanted.requests_per_day,
            model_calls_per_day=wanted.model_calls_per_day,
            per_minute=wanted.per_minute,
        )
        async with self._writing:
            await self._keep({**self._with_room(now), key.id: key})
        return text, key

    async def revoke(self, name: str) -> ApiKey:
        """End a key now; one that was revoked stays so. Raises ``NotFound``, ``Unavailable``."""
        async with self._writing:
            key = self._by_id.get(name)
            if key is None:
                raise NotFound(f"there is no key {name[:64]!r}; neuroswarm apikeys list shows them")
            if key.revoked is None:
                key = msgspec.structs.replace(key, revoked=self._clock.now().replace(microsecond=0))
                await self._keep({**self._by_id, name: key})
        return key

    def _with_room(self, now: datetime) -> dict[str, ApiKey]:
        """Raises ``BadInput`` where there is none."""
        keys = dict(self._by_id)
        if len(keys) >= KEYS_MAX:
            ended = min((key for key in keys.values() if key.why_not(now)), key=_age, default=None)
            if ended is None:
                raise BadInput("there are too many keys", field="tenant", limit=f"{KEYS_MAX} keys")
            del keys[ended.id]
        return keys

    async def _keep(self, keys: dict[str, ApiKey]) -> None:
        if self._folder is not None:
            data = msgspec.json.encode(_Keys(1, list(keys.values())))
            await asyncio.to_thread(put, self._folder / KEYS_FILE, data)
        self._by_id = keys
        self.epoch += 1

    # --- budgets ---

    def take(self, key: ApiKey, what: str) -> None:
        """One more of ``REQUESTS`` or ``MODEL_CALLS``. Raises ``BudgetSpent``."""
        used = self._today(key)
        if self.left(key, what) == 0:
            raise BudgetSpent(
                f"this key has used up its {_most(key, what)} {what.replace('_', ' ')} of today (UTC)",
                retry_after_s=self.until_tomorrow_s(),
            )
        setattr(used, what, getattr(used, what) + 1)
        self._is_kept = False

    def give_back(self, key: ApiKey, what: str) -> None:
        used = self._today(key)
        setattr(used, what, max(0, getattr(used, what) - 1))
        self._is_kept = False

    def left(self, key: ApiKey, what: str) -> int | None:
        """None: it has no such budget."""
        most = _most(key, what)
        return max(0, most - getattr(self._today(key), what)) if most else None

    def until_tomorrow_s(self) -> float:
        now = self._clock.now()
        return (datetime.combine(now.date() + timedelta(days=1), time(), now.tzinfo) - now).total_seconds()

    def _today(self, key: ApiKey) -> Used:
        today = self._clock.now().toordinal()
        used = self._used.get(key.id)
        if used is None or used.day < today:
            used = self._used[key.id] = Used(today)
        return used

    async def flush(self) -> None:
        """Keep what was used. Raises ``Unavailable``."""
        if self._is_kept or self._folder is None:
            return
        self._is_kept = True
        today = self._clock.now().toordinal()
        self._used = {
            name: used for name, used in self._used.items() if used.day >= today and name in self._by_id
        }
        try:
            await asyncio.to_thread(put, self._folder / USED_FILE, msgspec.json.encode(self._used))
        except BaseException:
            self._is_kept = False
            raise


def _most(key: ApiKey, what: str) -> int:
    return key.requests_per_day if what == REQUESTS else key.model_calls_per_day


def _age(key: ApiKey) -> datetime:
    return key.created


def _check(wanted: Wanted) -> None:
    """Raises ``BadInput``."""
    unknown = [scope for scope in wanted.scopes if scope not in SCOPES]
    if unknown or not wanted.scopes:
        raise BadInput(f"scopes are {', '.join(SCOPES)}", field="scopes")
    if len(wanted.name) > NAME_CHARS_MAX or not wanted.name.isprintable():
        raise BadInput("the name is one line", field="name", limit=f"{NAME_CHARS_MAX} characters")
    if wanted.lifetime_s is not None and not 0 < wanted.lifetime_s <= LIFETIME_S_MAX:
        raise BadInput("the lifetime is out of range", field="expires_in_s", limit=f"1 to {LIFETIME_S_MAX} s")
    for field in ("requests_per_day", "model_calls_per_day", "per_minute"):
        if not 0 <= getattr(wanted, field) <= COUNT_MAX:
            raise BadInput(f"{field} is out of range", field=field, limit=f"0 to {COUNT_MAX}")


def _read(path: Path, kind: type[_Read]) -> _Read | None:
    """Raises ``CorruptState`` for what this program did not write, ``Unavailable``."""
    data = state_file.read(path, _BYTES_MAX)
    if data is None:
        return None
    try:
        if len(data) > _BYTES_MAX:
            raise Rejected(f"it is over {_BYTES_MAX} bytes")
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, Rejected) as exc:
        raise CorruptState(
            f"{path} is damaged ({exc}); move it away and make new keys: neuroswarm apikeys create"
        ) from exc
