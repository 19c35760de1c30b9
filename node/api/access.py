"""Who calls, what a route needs, and what a caller may use up.

Rules:
1. Routes whose answers are public are open to everybody (``OPEN``); of all others each needs a scope, and one
   that nobody has classed needs ``read``.
2. A trusted proxy names tenant and user in headers of the operator's choice; from anybody else these headers
   say nothing. A key that is shown is believed or refused, never passed over. Without either, a caller is
   ``local`` where the connection comes from this machine, from no trusted proxy, with nothing in its head
   that a proxy adds, and the settings allow that.
3. While no key was ever made here there is nothing that a key could be checked against: what clients send
   because they cannot do without is then taken as none. What looks like one of ours is refused even so.
4. A keyed caller's records are its tenant's alone (``private:<tenant>``). Within a tenant a user is the key,
   or whom the proxy names; what a body says of users is a claim.
5. A ticket holds until a key is made or revoked, and not beyond its key's expiry; what is under way for a key
   ends with it.
Must not know: what is asked, what is answered.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from aiohttp import web

from node.api.downloads import OPEN as OPEN_BELOW
from node.api.rates import DAY_S, Rates, Standing, told
from node.core.caller import Caller, private_scope
from node.core.clock import Clock, SystemClock
from node.core.errors import BadInput, BudgetSpent, Forbidden, NodeError, RateLimited, Unauthenticated
from node.core.metrics import Metrics
from node.core.peer_address import is_own_host
from node.core.server_settings import Server, is_within
from node.store.api_keys import (
    ADMIN,
    MODEL_CALLS,
    PREFIX,
    PUBLISH,
    READ,
    REQUESTS,
    WRITE,
    ApiKey,
    ApiKeys,
    tenant_of,
)

OPEN = "open"
NEEDS: Mapping[tuple[str, str], str] = {
    ("GET", "/"): OPEN,
    ("GET", "/livez"): OPEN,
    ("GET", "/readyz"): OPEN,
    ("GET", "/health"): OPEN,
    ("GET", "/openapi.json"): OPEN,
    ("GET", "/peers"): OPEN,
    ("GET", "/peers/identity"): OPEN,
    ("POST", "/peers/blocks"): OPEN,
    ("POST", "/peers/reconcile"): OPEN,
    ("POST", "/v1/cache/entries"): WRITE,
    ("DELETE", "/v1/cache/entries/{cid}"): WRITE,
    ("POST", "/v1/cache/invalidate"): WRITE,
    ("POST", "/v1/documents"): WRITE,
    ("DELETE", "/v1/documents/{document}"): WRITE,
    ("DELETE", "/v1/memory"): WRITE,
    ("GET", "/v1/cache/stats"): ADMIN,
    ("GET", "/metrics"): ADMIN,
    ("POST", "/peers/sync"): ADMIN,
}
"""By method and pattern of path; ``read`` for all others, ``OPEN`` below the paths that follow."""
_OPEN_BELOW = (*OPEN_BELOW, "/logs/", "/witness/")
PASSED_ON = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via")
"""What a proxy says when it asks for somebody else."""
PROXIED_MAX = 4_096
"""Users of proxies whose tickets are kept; the longest unused makes room."""
_USER = re.compile(r"[\x21-\x7e]{1,128}")
_HOW = "send a key as Authorization: Bearer nsk_…; neuroswarm apikeys create makes one"


@dataclass(frozen=True, slots=True)
class _Meter:
    """A key's budget of questions that models are asked for."""

    keys: ApiKeys
    key: ApiKey

    @property
    def is_spent(self) -> bool:
        return self.keys.left(self.key, MODEL_CALLS) == 0

    def take(self) -> None:
        self.keys.take(self.key, MODEL_CALLS)

    def give_back(self) -> None:
        self.keys.give_back(self.key, MODEL_CALLS)


@dataclass(frozen=True, eq=False, slots=True)
class Ticket:
    """Who calls. ``scopes`` is what is allowed; ``epoch`` that of the keys when it was made out; 0
    ``per_minute``: no limit; ``is_counted``: it has a limit of some kind."""

    caller: Caller
    epoch: int
    scopes: frozenset[str]
    per_minute: int = 0
    key: ApiKey | None = None
    is_counted: bool = False


class Access:
    """Build one for a door. Event loop only."""

    def __init__(
        self,
        server: Server,
        keys: ApiKeys | None = None,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self._server = server
        self._clock = clock or SystemClock()
        self._keys = keys or ApiKeys(None, self._clock)
        self._metrics = metrics
        self._rates = Rates()
        self._epoch = -1
        self._local = Ticket(Caller(), 0, frozenset())
        self._tickets: OrderedDict[object, Ticket] = OrderedDict()

    # --- who ---

    def ticket(self, request: web.Request, need: str) -> Ticket | None:
        """Whoever calls, if he may; None: a stranger at a route that is open. Raises ``Unauthenticated``,
        ``Forbidden``, ``BadInput``."""
        try:
            ticket = self._of(request)
            if need != OPEN:
                _must(ticket, need)
            return ticket
        except (Unauthenticated, Forbidden, BadInput) as exc:
            if need == OPEN:
                return None
            self.refused("key" if isinstance(exc, Unauthenticated) else "scope")
            raise

    def refused(self, reason: str) -> None:
        if self._metrics is not None:
            self._metrics.count("refused_requests", reason)

    def _of(self, request: web.Request) -> Ticket:
        if self._epoch != self._keys.epoch:
            self._tickets.clear()
            self._epoch = self._keys.epoch
            self._local = Ticket(Caller(), self._epoch, frozenset((READ, WRITE, PUBLISH, ADMIN)))
        address, server = request.remote or "", self._server
        is_proxy = is_within(address, server.trusted_proxies)
        if is_proxy and server.tenant_header and server.tenant_header in request.headers:
            return self._named_by_proxy(request)
        is_local = server.keyless and not is_proxy and _is_here(address, request)
        shown = request.headers.getall("Authorization", ())
        if shown:
            text = _bearer(shown)
            if is_local and self._keys.is_empty and not text.startswith(PREFIX):
                return self._local
            return self._keyed(text)
        if not is_local:
            raise Unauthenticated(f"a key is needed here: {_HOW}")
        return self._local

    def _keyed(self, text: str) -> Ticket:
        key = self._keys.find(text)
        if key is None:
            raise Unauthenticated(f"this key is not known here: {_HOW}")
        if why := key.why_not(self._clock.now()):
            raise Unauthenticated(f"{why}: {_HOW}")
        ticket = self._tickets.get(key.id)
        if ticket is None:
            is_admin = key.may(ADMIN)
            caller = Caller(
                tenant=key.tenant,
                default_scope=private_scope(key.tenant),
                may_write=key.may(WRITE),
                key=key.id,
                is_admin=is_admin,
                sees_shared=is_admin or self._server.shared_pool,
                may_publish=key.may(PUBLISH),
                meter=_Meter(self._keys, key) if key.model_calls_per_day else None,
            )
            scopes = frozenset(scope for scope in (READ, WRITE, PUBLISH, ADMIN) if key.may(scope))
            per_minute = key.per_minute or self._server.requests_per_minute
            ticket = self._tickets[key.id] = Ticket(
                caller, self._epoch, scopes, per_minute, key, is_counted=True
            )
        return ticket

    def _named_by_proxy(self, request: web.Request) -> Ticket:
        server = self._server
        tenant = _single(request, server.tenant_header)
        user = _single(request, server.user_header) if server.user_header in request.headers else ""
        if user and not _USER.fullmatch(user):
            raise BadInput(
                "the user is 1 to 128 printable characters without spaces", field=server.user_header
            )
        ticket = self._tickets.get((tenant, user))
        if ticket is None:
            tenant_of(tenant)
            caller = Caller(
                tenant=tenant,
                default_scope=private_scope(tenant),
                key=f"{tenant}/{user}",
                sees_shared=server.shared_pool,
                may_publish=False,
            )
            ticket = Ticket(
                caller,
                self._epoch,
                frozenset((READ, WRITE)),
                server.requests_per_minute,
                is_counted=server.requests_per_minute > 0,
            )
            self._tickets[tenant, user] = ticket
            if len(self._tickets) > PROXIED_MAX:
                self._tickets.popitem(last=False)
        return ticket

    # --- how much ---

    def spend(self, ticket: Ticket | None) -> None:
        """One request. Raises ``RateLimited``, ``BudgetSpent``."""
        if ticket is None or not ticket.is_counted:
            return
        try:
            self._rates.take(ticket.caller.person, ticket.per_minute)
            if ticket.key is not None:
                self._keys.take(ticket.key, REQUESTS)
        except RateLimited as exc:
            self.refused("budget" if isinstance(exc, BudgetSpent) else "rate")
            raise

    def lets_in(self, ticket: Ticket) -> bool:
        """``spend`` for whoever has had this ticket before, where it still holds (rule 5)."""
        if ticket.epoch != self._keys.epoch:
            return False
        if not ticket.is_counted:
            return True
        try:
            self.check(ticket)
            self.spend(ticket)
        except NodeError:
            return False
        return True

    def check(self, ticket: Ticket | None) -> None:
        """Raises ``Unauthenticated`` where the key of somebody who was let in has ended since (rule 5)."""
        if ticket is None or ticket.key is None:
            return
        now = self._clock.now()
        if ticket.epoch == self._keys.epoch:
            why = ticket.key.why_not(now)
        else:
            key = self._keys.of(ticket.key.id)
            why = "this key is not known any more" if key is None else key.why_not(now)
        if why:
            raise Unauthenticated(f"{why}: {_HOW}")

    def told(self, ticket: Ticket | None) -> Mapping[str, str]:
        """What is left, as headers."""
        if ticket is None or not ticket.is_counted:
            return {}
        return told(self._standings(ticket))

    def _standings(self, ticket: Ticket) -> Sequence[Standing]:
        found: list[Standing] = []
        if ticket.per_minute:
            found.append(self._rates.standing(ticket.caller.person, ticket.per_minute))
        if ticket.key is not None:
            ends_s = round(self._keys.until_tomorrow_s())
            budgets = ((REQUESTS, ticket.key.requests_per_day), (MODEL_CALLS, ticket.key.model_calls_per_day))
            for name, most in budgets:
                left = self._keys.left(ticket.key, name)
                if left is not None:
                    found.append(Standing(name, most, DAY_S, left, ends_s))
        return found


def needed(request: web.Request) -> str:
    """What the route needs; what is no route shows nothing to anybody."""
    info = request.match_info
    resource = info.route.resource
    if info.http_exception is not None or resource is None:
        return OPEN
    return need_of(request.method, resource.canonical)


@lru_cache(1_024)
def need_of(method: str, pattern: str) -> str:
    """The scope that a route needs, or ``OPEN``."""
    if pattern.startswith(_OPEN_BELOW):
        return OPEN
    return NEEDS.get(("GET" if method == "HEAD" else method, pattern), READ)


def _must(ticket: Ticket, need: str) -> None:
    if need not in ticket.scopes:
        has = ", ".join(scope for scope in (READ, WRITE, PUBLISH, ADMIN) if scope in ticket.scopes)
        raise Forbidden(f"this needs a key with the scope {need}; this one has: {has}")


@lru_cache(1_024)
def _is_loopback(address: str) -> bool:
    return is_own_host(address)


def _is_here(address: str, request: web.Request) -> bool:
    """Whether somebody on this machine asks for himself."""
    return _is_loopback(address) and not any(name in request.headers for name in PASSED_ON)


def _bearer(shown: Sequence[str]) -> str:
    """Raises ``Unauthenticated``."""
    scheme, _, text = shown[0].strip().partition(" ")
    if len(shown) != 1 or scheme.lower() != "bearer" or not text.strip():
        raise Unauthenticated(f"Authorization must hold one Bearer key: {_HOW}")
    return text.strip()


def _single(request: web.Request, name: str) -> str:
    """What a proxy's header says. One that came twice was not put there by the proxy alone. Raises
    ``BadInput``."""
    values = request.headers.getall(name)
    if len(values) != 1 or "," in values[0]:
        raise BadInput(f"{name} came more than once; the proxy must take out what clients send", field=name)
    return values[0].strip()
