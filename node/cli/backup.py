"""The commands ``neuroswarm backup`` and ``restore``."""

from __future__ import annotations

import argparse
import getpass
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from node.cli.desk import Do, desk
from node.cli.files import read_from, write_to
from node.cli.terminal import Progress, complain, size, tell
from node.core.errors import BadInput
from node.core.settings import Settings

if TYPE_CHECKING:
    from node.app.restore import Restored

_PASSPHRASE_BYTES_MAX = 1_024
_PASSPHRASE_CHARS_MIN = 8


def backup(args: argparse.Namespace, settings: Settings) -> int:
    """Make a backup beside a running node, or without one; or look at those that are there."""
    if args.list or args.check:
        return _look(args)
    if args.keys is None and (args.passphrase_file or args.no_passphrase):
        raise BadInput("a passphrase is for the key file: name one with --keys FILE", field="keys")
    passphrase = _new_passphrase(args) if args.keys else ""
    folder = Path(args.folder).absolute()
    if args.keys and Path(args.keys).absolute().is_relative_to(folder):
        raise BadInput(
            "the key file must not lie in the backup folder: whoever has both has all", field="keys"
        )
    asked: dict[str, Any] = {"folder": str(folder)}
    if args.keep is not None:
        asked["keep"] = args.keep
    with desk(settings) as do:
        if args.keys is None:
            made = _made(do, asked)
        else:
            from node.app import restore as keys
            from node.store.backup import key_file

            data_dir = Path(settings.data_dir)
            before = keys.keys_before(data_dir)
            made = _made(do, asked)
            found = before | keys.keys_after(data_dir)
            with write_to(args.keys) as file:
                file.write(key_file.seal(found, passphrase))
            made["keys"] = args.keys
    lines = [
        f"backup {made['backup']}: {size(made['bytes'])} in {made['files']} files, "
        f"{size(made['written_bytes'])} of them new, log of {made['entries']} entries"
    ]
    if made["dropped"]:
        lines.append(f"  deleted, being over the number that is kept: {', '.join(made['dropped'])}")
    if made["struck"]:
        lines.append(f"  what was erased since was taken out of {made['struck']} older ones")
    if args.keys:
        lines.append(f"  keys in {args.keys}{'' if passphrase else ', readable by whoever gets the file'}")
    else:
        lines.append("  without keys: a restore needs those of this data directory, or a file of --keys FILE")
    tell(args, made, lines)
    return 0


def _made(do: Do, asked: dict[str, Any]) -> dict[str, Any]:
    reply = do("backup", asked)
    while reply["state"] == "running":
        reply = do("backup", {"id": reply["id"]})
    return reply


def _look(args: argparse.Namespace) -> int:
    """The backups of a folder, and with ``--check`` every byte of them."""
    from node.store.backup.folder import BackupFolder

    folder = BackupFolder.at(Path(args.folder))
    rows = []
    for name in folder.names():
        manifest = folder.read(name)
        if args.check:
            folder.check(manifest)
        rows.append(
            {
                "backup": name,
                "time": manifest.time,
                "bytes": manifest.size,
                "entries": manifest.entries,
                "is_checked": args.check,
            }
        )
    ok = ", every part holds" if args.check else ""
    lines = [f"{one['backup']}  {size(one['bytes'])}, log of {one['entries']} entries{ok}" for one in rows]
    tell(args, {"root": folder.root, "backups": rows}, lines or ["there is no backup yet"])
    return 0


def restore(args: argparse.Namespace, settings: Settings) -> int:
    """Put a backup into the data directory and the log folder of the settings."""
    from node.app.restore import restore as put_back
    from node.core.clock import SystemClock
    from node.store.backup import key_file
    from node.store.backup.folder import BackupFolder

    folder = BackupFolder.at(Path(args.folder))
    names = folder.names()
    if not names:
        raise BadInput(f"{args.folder} holds no backup", field="folder")
    manifest = folder.read(args.at or names[-1])
    keys = None
    if args.keys is not None:
        with read_from(args.keys) as (file, _):
            data = file.read(key_file.FILE_BYTES_MAX)
        passphrase = _passphrase(args, "passphrase of the key file: ") if key_file.is_sealed(data) else ""
        keys = key_file.open_keys(data, passphrase)
    progress = Progress("restoring", manifest.size)
    try:
        done = put_back(
            settings,
            folder,
            manifest,
            keys,
            SystemClock().now(),
            replace=args.replace,
            is_new=args.new_identity,
            show=lambda read, _: progress.show(read, size(read)),
        )
    finally:
        progress.end()
    tell(args, asdict(done), _restored(done, folder.root, settings))
    return 0


def _restored(done: Restored, before: str, settings: Settings) -> list[str]:
    """What is told; ``before``: whose backup it was."""
    lines = [
        f"restored {done.backup} (of {done.time}) into {settings.data_dir} and {settings.governance_dir}: "
        f"{size(done.bytes)}",
        f"  the log holds: {done.entries} entries, {done.epochs} closed epochs before it",
        f"  {done.erased} records that were erased since were looked for and are not in it",
    ]
    if done.unchecked:
        lines.append(f"  not checked: closed epochs ({done.unchecked}); later type: neuroswarm log verify")
    lines += [f"  what was there is in {aside}; delete it when you need it no more" for aside in done.aside]
    if done.former:
        return [
            *lines,
            f"  this is a new node, {done.root}: it signs a log of its own from its first entry on, and "
            "peers that trust the one before do not trust it yet",
            f"  the log of {before} is in {done.former}; it can be verified, and never goes on",
            "  private answers cannot be opened without the keys of the node before, and are given up",
        ]
    lines.append(
        f"  it is {done.root} again: the node that the backup is of must not run any more, on no machine, "
        "for two with the same keys sign one log with two histories, for which peers drop both"
    )
    if done.signed > done.entries:
        lines.append(
            f"  the keys know of a checkpoint of {done.signed} entries: before the start type "
            "neuroswarm log recover --new-epoch"
        )
    else:
        lines.append(
            "  the next start signs nothing before a witness or peer has shown what it holds of the logs; "
            "where there is none, or it holds more: neuroswarm log recover --new-epoch; the log of what "
            "it shares waits for a peer, or for your word: neuroswarm log recover --publications"
        )
    return lines


# --- passphrases ----------------------------------------------------------------------------------


def _new_passphrase(args: argparse.Namespace) -> str:
    if args.no_passphrase:
        return ""
    found = _passphrase(args, "passphrase for the key file: ")
    if len(found) < _PASSPHRASE_CHARS_MIN:
        limit = f"at least {_PASSPHRASE_CHARS_MIN} characters"
        raise BadInput(f"the passphrase is too short: {limit}", field="passphrase", limit=limit)
    if args.passphrase_file is None and getpass.getpass("once more: ") != found:
        raise BadInput("the two are not the same", field="passphrase")
    return found


def _passphrase(args: argparse.Namespace, asked: str) -> str:
    if args.passphrase_file is not None:
        with read_from(args.passphrase_file) as (file, _):
            data = file.read(_PASSPHRASE_BYTES_MAX + 1)
        if len(data) > _PASSPHRASE_BYTES_MAX:
            raise BadInput(
                "the passphrase is too long", field="passphrase", limit=f"{_PASSPHRASE_BYTES_MAX} bytes"
            )
        try:
            return data.decode().rstrip("\r\n")
        except UnicodeDecodeError as exc:
            raise BadInput("the passphrase is not UTF-8", field="passphrase") from exc
    if not sys.stdin.isatty():
        complain("no terminal to ask for a passphrase")
        raise BadInput("name a file with it: --passphrase-file FILE", field="passphrase")
    return getpass.getpass(asked)
