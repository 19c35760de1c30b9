"""The command ``neuroswarm ingest``: what others made, taken into this node. Folders become documents, CARs
public blocks; IPNS records are kept for whoever asks for the name."""

from __future__ import annotations

import argparse
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from node.cli import documents
from node.cli.desk import Do, desk
from node.cli.files import read_from
from node.cli.terminal import Progress, size
from node.core.errors import BadInput, NodeError, Rejected
from node.core.settings import Settings

_CHUNK_BYTES = 256 * 2**10
_ROOTS_SAID = 3


def ingest(args: argparse.Namespace, settings: Settings) -> int:
    """Take them in, one after the other."""
    if not (args.folder or args.remove or args.car or args.ipns_record):
        raise BadInput("name a folder: neuroswarm ingest FOLDER, or --car FILE", field="folder")
    records = [_record(text) for text in args.ipns_record]
    report: dict[str, Any] = {"files": [], "names": [], "folders": [], "removed": [], "error": None}
    with desk(settings) as do:
        try:
            for path in args.folder:
                report["folders"].append(documents.folder(path, args, do))
                if not args.json:
                    documents.tell(report["folders"][-1])
            if args.remove:
                report["removed"] = do("documents", {"do": "remove", "paths": args.remove})["removed"]
                if not args.json:
                    print(f"removed: {', '.join(report['removed'])}")
            for file in args.car:
                report["files"].append({"file": file, **_car(file, do)})
                if not args.json:
                    print(_said(report["files"][-1]))
            for name, file, data in records:
                report["names"].append({"file": file, **_name(name, file, data, do)})
                if not args.json:
                    kept = report["names"][-1]["kept"]
                    print(f"{file}: {'kept' if kept else 'a newer record is here already'}, /ipns/{name}")
        except NodeError as exc:
            if not args.json:
                raise
            report["error"] = str(exc)
    if args.json:
        print(json.dumps(report, indent=2))
    return 0 if report["error"] is None else 1


def _car(name: str, do: Do) -> dict[str, Any]:
    with read_from(name) as (file, total):
        progress = Progress("importing", total)
        try:
            return do.stream("ingest", _pieces(file, progress))
        except NodeError as exc:
            raise Rejected(f"{name}: {exc}") from exc
        finally:
            progress.end()


def _pieces(file: BinaryIO, progress: Progress) -> Iterator[bytes]:
    read = 0
    while chunk := file.read(_CHUNK_BYTES):
        read += len(chunk)
        yield chunk
        progress.show(read, size(read))


def _said(done: dict[str, Any]) -> str:
    known = f", {done['known']} known already" if done["known"] else ""
    roots = ", ".join(done["roots"][:_ROOTS_SAID])
    more = f" and {done['roots_count'] - _ROOTS_SAID} more" if done["roots_count"] > _ROOTS_SAID else ""
    return (
        f"{done['file']}: {done['blocks']} new blocks ({size(done['bytes'])}){known}, public from now on; "
        f"roots: {roots or 'none'}{more}"
    )


def _record(text: str) -> tuple[str, str, bytes]:
    """Name, file and bytes of one ``--ipns-record``. Raises ``BadInput``."""
    from node.core.ipld.ipns import RECORD_BYTES_MAX, IpnsName

    given, equals, file = text.partition("=")
    if not equals:
        given, file = Path(text).name.split(".")[0].split("_")[0], text
    try:
        name = IpnsName.parse(given).text
    except Rejected as exc:
        raise BadInput(
            f"{text}: {given[:64]!r} is no IPNS name ({exc}); write NAME=FILE", field="ipns-record"
        ) from exc
    with read_from(file) as (opened, _):
        data = opened.read(RECORD_BYTES_MAX + 1)
    if len(data) > RECORD_BYTES_MAX:
        raise BadInput(
            f"{file} is over the {RECORD_BYTES_MAX} bytes of an IPNS record",
            field="ipns-record",
            limit=f"{RECORD_BYTES_MAX} bytes",
        )
    return name, file, data


def _name(name: str, file: str, data: bytes, do: Do) -> dict[str, Any]:
    try:
        return do("name", {"name": name, "record": base64.b64encode(data).decode()})
    except NodeError as exc:
        raise Rejected(f"{file}: {exc}") from exc
