"""Who asks: from authentication, never from the text. What such a caller may see, store and use up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

LOCAL = "local"
"""Who shows no key and asks from this machine: the tenant, and the name in what such a caller stores."""
SCOPE_SHARED = "shared"
SCOPE_PUBLIC = "public"
_PRIVATE_PREFIX = "private:"


def private_scope(tenant: str) -> str:
    """The scope that only ``tenant`` may see."""
    return _PRIVATE_PREFIX + tenant


class Meter(Protocol):
    """Counts the questions of one caller that models are asked for."""

    @property
    def is_spent(self) -> bool:
        """Whether no model may be asked any more."""
        ...

    def take(self) -> None:
        """One more. Raises ``BudgetSpent``."""
        ...

    def give_back(self) -> None:
        """No model has answered."""
        ...


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, from authentication and never from the text. ``key``: the public id of the key that was
    shown, never the key itself, or whom a trusted proxy names; empty where there was none. ``is_admin``: it
    is a key of the operator. ``sees_shared``: what everybody here sees is for this caller too, to read and
    to write. ``meter``: None where models may be asked without end."""

    tenant: str = LOCAL
    default_scope: str = SCOPE_SHARED
    may_write: bool = True
    key: str = ""
    is_admin: bool = False
    sees_shared: bool = True
    may_publish: bool = True
    meter: Meter | None = field(default=None, compare=False, repr=False)

    @property
    def person(self) -> str:
        """Whose conversations these are: a key's within its tenant."""
        return f"{self.tenant}/{self.key}" if self.key else self.tenant

    def request(self, request: str) -> str:
        """The id of a request as its tenant's own: clients choose ids, and no tenant may meet another's."""
        return f"{self.tenant}/{request}" if self.key else request

    @property
    def by(self) -> str:
        """Whose name stands in what this caller stores: the key's id, or ``local``."""
        return self.key or self.tenant

    @property
    def is_operator(self) -> bool:
        """Whoever needs no key on this machine, or shows a key of the operator."""
        return self.is_admin or (self.tenant == LOCAL and not self.key)

    def owns(self, by: str | None) -> bool:
        """Whether what ``by`` stored is this caller's own word beyond doubt. Without a key nobody can be told
        from others on this machine."""
        return bool(self.key) and by == self.key

    @property
    def visible_scopes(self) -> tuple[str, ...]:
        """Hard filter before any search: public, shared (where the caller may see it) and the caller's own
        private records."""
        own = private_scope(self.tenant)
        return (SCOPE_PUBLIC, SCOPE_SHARED, own) if self.sees_shared else (SCOPE_PUBLIC, own)
