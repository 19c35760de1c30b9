"""The commands ``neuroswarm cache …`` but for files: figures, replay, withdrawing and erasing.

What is written goes through the operator's desk (``node.cli.desk``).
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any

from node.cli.desk import desk
from node.cli.http import NOBODY, NoNode, base, call
from node.cli.terminal import Progress, refused, tell
from node.core.errors import BadInput
from node.core.settings import Settings

# --- stats ----------------------------------------------------------------------------------------


def stats(args: argparse.Namespace, settings: Settings) -> int:
    """The cache of a running node in figures."""
    address = base(args, settings)
    try:
        status, reply = call(f"{address}/v1/cache/stats", None, 10)
        if status != 200 and not args.json:
            return refused(reply)
        tell(args, reply, [] if args.json else [_stats_text(reply)])
    except (*NOBODY, LookupError, TypeError, AttributeError) as exc:
        raise NoNode(address, exc) from exc
    return 0 if status == 200 else 1


def _stats_text(reply: dict[str, Any]) -> str:
    gate, audits, answers = reply["gate"], reply["audits"], reply["answers"]
    rows = [
        ("entries", f"{reply['entries']} live, {reply['vectors']} with a vector, {reply['bytes']} bytes"),
        ("evicted", f"{reply['evicted']} since the start"),
        ("answers", f"{answers['from_cache']} from the cache, {answers['made']} made since the start"),
        ("saved", "not known yet" if reply["saved_s"] is None else f"about {reply['saved_s']:.1f} s"),
    ]
    rows += [(f"hits, {one['tier']}", f"{one['count']} {one['kind']}") for one in reply["hits"]]
    rows.append(("gate", f"let {gate['let_through']} of {gate['lookups']} look-ups through"))
    if reply["shadow"]:
        rows.append(("shadow mode", f"{gate['would_be_hits']} hits kept back"))
    rows.append(("wrong hits", _share_text(reply["wrong_hits"])))
    rows += [(f"  {one['kind']}, {one['tier']}", _share_text(one)) for one in reply["wrong_hits_by_route"]]
    rows.append(("feedback", f"{reply['feedback']['right']} valid, {reply['feedback']['wrong']} invalid"))
    rows.append(
        (
            "audits",
            f"{audits['done']} done, {audits['undecided']} of them undecided, "
            f"{audits['skipped']} passed over, {audits['left_this_hour']} left this hour",
        )
    )
    labels = ", ".join(f"{one['count']} {one['source']} {one['verdict']}" for one in reply["labels"])
    rows.append(("labels", labels or "none"))
    rows.append(("tightened", f"{reply['records_tightened']} records"))
    return "\n".join(f"{name:<24} {text}" for name, text in rows)


def _share_text(one: dict[str, Any]) -> str:
    if one["wrong_share"] is None:
        return f"none checked and decided ({one['undecided']} undecided)"
    return (
        f"{one['wrong_share']:.2%} ({one['low']:.2%} to {one['high']:.2%}, at most {one['upper']:.2%}) of "
        f"{one['right'] + one['wrong']} checked, {one['undecided']} undecided"
    )


# --- replay ---------------------------------------------------------------------------------------


def replay(args: argparse.Namespace, settings: Settings) -> int:
    """Replay a file of questions in a throw-away node."""
    from node.app.node import throwaway
    from node.pipeline.replay import LIMIT_MAX, Replay, ReplayClock, Report, as_json, as_text

    if not 1 <= args.limit <= LIMIT_MAX:
        raise BadInput(f"--limit must lie between 1 and {LIMIT_MAX}", field="limit")
    path = Path(args.file)
    if not path.is_file():
        raise BadInput(f"there is no file {path}", field="file")
    progress = Progress()

    async def run() -> Report:
        clock = ReplayClock()
        async with throwaway(settings, clock) as node:
            return await Replay(node.service, clock).run(
                path, limit=args.limit, show=lambda done: progress.write(f"{done} questions")
            )

    report = asyncio.run(run())
    progress.end()
    tell(args, as_json(report), [as_text(report)], is_ascii=False)
    return 0 if report.ours.lookups else 1


# --- invalidate and erase -------------------------------------------------------------------------


def invalidate(args: argparse.Namespace, settings: Settings) -> int:
    """Withdraw what fits every option given."""
    asked = {
        name: getattr(args, name) for name in ("cid", "query", "like", "source", "tag", "scope", "dry_run")
    }
    asked["older_than_s"] = args.older_than
    withdrawn, matched = 0, 0
    cids: list[str] = []
    with desk(settings) as do:
        progress: Progress | None = None
        while True:
            done = do("invalidate", asked)
            if progress is None:
                matched, cids = done["matched"], done["cids"]
                progress = Progress("invalidating", matched)
            withdrawn += done["withdrawn"]
            progress.show(withdrawn, f"{withdrawn} of {matched}")
            if args.dry_run or not done["withdrawn"] or done["withdrawn"] == done["matched"]:
                break
        progress.end()
    lines = [f"{withdrawn} answers withdrawn for good"]
    if args.dry_run:
        lines = [*cids, f"{matched} answers fit; nothing was changed"]
    tell(args, {"matched": matched, "withdrawn": withdrawn, "cids": cids}, lines)
    return 0


def erase(args: argparse.Namespace, settings: Settings) -> int:
    """Destroy an answer, every answer to a question, or all that a tenant has of its own."""
    named = {"cid": args.cid, "query": args.query, "tenant": args.tenant}
    asked = {name: value for name, value in named.items() if value is not None}
    if len(asked) != 1:
        raise BadInput("name one: cache erase CID, or --query TEXT, or --tenant NAME", field="cid")
    asked["dry_run"] = args.dry_run
    erased: list[dict[str, Any]] = []
    documents, was_remembered = 0, False
    with desk(settings) as do:
        progress = Progress("erasing", None)
        try:
            while True:
                done = do("erase", asked)
                erased += done["erased"]
                documents += done["documents"]
                was_remembered |= done["memory"]
                progress.show(len(erased), f"{len(erased)} erased")
                if args.dry_run or not done["more"]:
                    break
        finally:
            progress.end()
    places = done["places"]
    if args.dry_run:
        more = " and more" if done["more"] else ""
        also = f" and {documents} documents" if documents else ""
        lines = [*(one["cid"] for one in erased), f"{len(erased)}{more}{also} fit; nothing was changed"]
    else:
        told = [f"erased {documents} documents"] if documents else []
        told += ["erased what was remembered"] if was_remembered else []
        lines = [*told, *map(_erased_text, erased), *map(_place_text, places)] or ["nothing of that is here"]
    report = {
        "erased": erased,
        "documents": documents,
        "memory": was_remembered,
        "dry_run": args.dry_run,
        "more": done["more"],
        "places": places,
    }
    tell(args, report, lines)
    return 0 if erased or documents or was_remembered else 1


def _erased_text(one: dict[str, Any]) -> str:
    if not one["scope"]:
        return f"erased {one['cid']}: an imported block"
    place = one["decision"]
    logged = "not logged; see: neuroswarm doctor" if place is None else f"decision #{place['index']}"
    return f"erased {one['cid']} ({one['scope']}): tombstone {one['tombstone']}, {logged}"


def _place_text(one: dict[str, Any]) -> str:
    why = f": {one['why']}" if one["why"] else ""
    return f"  {one['state']:<12} {one['place']}{why}"
