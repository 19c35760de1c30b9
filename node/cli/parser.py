"""The command line's parser, made of ``commands.toml``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from node import __version__
from node.core import build
from node.language.tables import read_table

STATUSES = (
    "exit status: 0 it holds; 1 it does not hold, or there is no such entry; 2 it could not be looked at "
    "(no such log, nobody answers, wrong usage)"
)
_LEVELS = ("command", "what", "which")
"""Where the names of commands, of commands of a command and of those below lie."""
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}


def made() -> argparse.ArgumentParser:
    """The parser. What it reads has ``run``, the command's whole name; ``has_statuses`` where its exit
    statuses are ``STATUSES``."""
    table = read_table("node.cli", "commands.toml")
    parser = argparse.ArgumentParser(prog="neuroswarm", description=table["description"])
    parser.add_argument("--version", action=_Version, help="show version and commit, and exit")
    below = {"": parser.add_subparsers(dest=_LEVELS[0], required=True)}
    for name, row in table["commands"].items():
        above, _, last = name.rpartition(" ")
        takes_all, has_statuses = row.get("takes_all", False), row.get("has_statuses", False)
        epilog = STATUSES if has_statuses else None
        command = below[above].add_parser(last, help=row["help"], epilog=epilog, add_help=not takes_all)
        command.set_defaults(run=name, has_statuses=has_statuses)
        if takes_all:
            command.add_argument("rest", nargs=argparse.REMAINDER)
        elif "options" not in row:
            below[name] = command.add_subparsers(dest=_LEVELS[1 + name.count(" ")], required=True)
        for option in row.get("options", ()):
            _add(command, option, table)
    return parser


def _add(to: Any, option: str | Mapping[str, Any], table: Mapping[str, Any]) -> None:
    if isinstance(option, str):
        for name in table["groups"].get(option, (option,)):
            _add(to, table["options"][name], table)
    elif "one_of" in option:
        group = to.add_mutually_exclusive_group(required=option.get("is_required", False))
        for one in option["one_of"]:
            _add(group, one, table)
    else:
        given = dict(option)
        flag, kind = given.pop("flag"), given.pop("is", None)
        if kind == "flag":
            given["action"] = "store_true"
        elif kind is not None:
            given["type"] = _TYPES[kind]
        if given.pop("is_hidden", False):
            given["help"] = argparse.SUPPRESS
        to.add_argument(flag, **given)


class _Version(argparse.Action):
    """Asks for the commit only where somebody wants to see it."""

    def __init__(self, option_strings: list[str], dest: str, **more: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help=more["help"])

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        print(f"neuroswarm {__version__} (commit {build.commit()})")
        parser.exit()


def _duration(text: str) -> int:
    """Seconds of ``90m``, ``12h``, ``30d``, ``2w``, ``45s`` or a plain number."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    if not (number.isascii() and number.isdigit() and len(number) <= 9):
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 90m, 12h or 30d")
    return int(number) * _UNITS[unit]


def _index(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of an entry")
    return int(text)


_TYPES: Mapping[str, Callable[[str], int]] = {"number": int, "duration": _duration, "index": _index}
