"""The commands ``neuroswarm apikeys …``: who may call this node."""

from __future__ import annotations

import argparse
from typing import Any

from node.cli.desk import desk
from node.cli.terminal import complain, tell
from node.core.settings import Settings


def create(args: argparse.Namespace, settings: Settings) -> int:
    """A new key, whose text is shown this once."""
    asked = {
        "tenant": args.tenant,
        "scopes": None if args.scopes is None else [part for part in args.scopes.split(",") if part],
        "name": args.name,
        "expires_in_s": args.expires,
        "requests_per_day": args.requests_per_day,
        "model_calls_per_day": args.model_calls_per_day,
        "per_minute": args.per_minute,
    }
    with desk(settings) as do:
        made = do("apikeys_create", asked)
    tell(args, made, [made["key"]])
    if not args.json:
        complain(f"key {made['id']} of tenant {made['tenant']}; keep it now, it is not shown again")
    return 0


def listed(args: argparse.Namespace, settings: Settings) -> int:
    """All keys without their secrets, and what each has used today."""
    with desk(settings) as do:
        keys = do("apikeys_list", {})["keys"]
    tell(args, {"keys": keys}, [_line(key) for key in keys] or ["there are no keys"])
    return 0


def revoke(args: argparse.Namespace, settings: Settings) -> int:
    """End a key now."""
    with desk(settings) as do:
        ended = do("apikeys_revoke", {"id": args.id})
    tell(args, ended, [f"key {ended['id']} of tenant {ended['tenant']} holds no more"])
    return 0


def _line(key: dict[str, Any]) -> str:
    ends = f"revoked {key['revoked']}" if key["revoked"] else f"until {key['expires'] or 'revoked'}"
    used = f"today {_of(key, 'requests')} requests, {_of(key, 'model_calls')} model calls"
    name = f" ({key['name']})" if key["name"] else ""
    return f"{key['id']}  {key['tenant']}{name}  {','.join(key['scopes'])}  {ends}  {used}"


def _of(key: dict[str, Any], what: str) -> str:
    most = key[f"{what}_per_day"]
    return f"{key[f'{what}_today']}" + (f" of {most}" if most else "")
