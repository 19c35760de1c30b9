"""What newcomers were answered, as a table: before issue 17 and after, by language model and engine.

    python -m bench.newcomer_report                             writes bench/results/newcomer.md
    python -m bench.newcomer_report --take FILE --setup NAME    takes replies of ``bench.newcomer`` in

Replies lie in ``newcomerlab/replies``, one file for each setup. What a program can count it counts: the right
words beside a citation, the right entry quoted first, the node's own words for not knowing. The rest was read
by a person: ``judged.tsv`` holds setup, id, verdict (right, wrong, honest, silly) and why, and goes before
what the program says.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from bench.newcomer import COMMUNITIES, HONEST, LAB, rows

REPLIES = LAB / "replies"
JUDGED = LAB / "judged.tsv"
INDEX = Path(__file__).parents[1] / "knowledge-index.json"
RESULT = Path(__file__).parent / "results" / "newcomer.md"
SETUPS: Mapping[str, str] = {
    "before-none": "before, no model",
    "none": "no model",
    "qwen15-xllamacpp": "Qwen 1.5B, xllamacpp",
    "qwen15-llamacpp": "Qwen 1.5B, llama-cpp-python",
    "qwen05-xllamacpp": "Qwen 0.5B, xllamacpp",
    "qwen15-bare": "Qwen 1.5B, no node",
}
BARE = "qwen15-bare"
HARBOUR = ("fa", "ab")
"""So begin the ids of the first community; the further ones were written later."""
_QUOTED = re.compile(r"[“«„]([^“”«»„]+)[”»“]")
Row: TypeAlias = dict[str, Any]
Verdicts: TypeAlias = Mapping[tuple[str, str], str]


def read(setup: str) -> list[Row]:
    """The replies of a setup; none where it was not asked."""
    file = REPLIES / f"{setup}.jsonl.gz"
    if not file.exists():
        return []
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def judged() -> dict[tuple[str, str], str]:
    """What a person said of a reply, by setup and id."""
    if not JUDGED.exists():
        return {}
    lines = [line.split("\t") for line in JUDGED.read_text("utf-8").splitlines() if not line.startswith("#")]
    return {(setup, item): verdict for setup, item, verdict, *_ in lines}


def _first_entry(row: Row, questions: Mapping[str, str]) -> str | None:
    """The fact that the reply quotes first."""
    quoted = _QUOTED.search(row["replies"][-1]["answer"] or "")
    return None if quoted is None else questions.get(quoted[1].strip().rstrip("?").casefold())


def _without(text: str, kind: str) -> str:
    """What a reply is that does not hold the answer: a quotation beside the question, honest, or wrong."""
    return "beside" if kind == "extractive" else "honest" if HONEST.search(text) else "wrong"


def count(setup: str, verdicts: Verdicts) -> Counter[str]:
    """The figures of one setup."""
    facts = [row for name in COMMUNITIES for row in rows(f"{name}_facts")]
    questions = {row["q"].rstrip("?").casefold(): row["fact_id"] for row in facts}
    answers = {one["query"]: one["answer"] for one in json.loads(INDEX.read_text("utf-8"))["entries"]}
    found: Counter[str] = Counter()
    for row in read(setup):
        name, item, reply = row["set"], row["item"], row["replies"][-1]
        text, kind = (reply["answer"] or "").lower(), (reply["source"] or {}).get("kind", "none")
        verdict = verdicts.get((setup, item["id"]))
        if name in ("ask", "absent") and not item["id"].startswith(HARBOUR):
            name = f"further {name}"
        found[name] += 1
        is_model = kind == "llm"
        if name.endswith("ask"):
            is_right = any(must.lower() in text for must in item["must"]) and bool(reply["citations"])
            verdict = verdict or ("right" if is_right else _without(text, kind))
            found[f"{name} first"] += _first_entry(row, questions) in item["needs"] or kind == "cache"
        elif name.endswith("absent"):
            verdict = verdict or _without(text, kind)
        elif name == "casual":
            hit, is_there = kind == "cache", item["query_hash_or_query"] is not None
            found["casual there"] += is_there
            entry = answers.get(item["query_hash_or_query"], "?")
            found["casual entry"] += is_there and entry[:60] in " ".join((reply["answer"] or "").split())
            found["casual hit"] += hit and is_there and verdict != "wrong"
            found["casual wrong hit"] += hit and (not is_there or verdict == "wrong")
            continue
        elif kind == "fallback" and HONEST.search(text):
            verdict = verdict or "honest"
        found[f"{name} {verdict or 'unread'}"] += 1
        if name == "everyday" and verdicts.get((BARE, item["id"])) == "right":
            found["bare right"] += 1
            found["bare right here"] += verdict == "right"
        if reply["stored"] and is_model:
            found["stored"] += 1
            found["stored wrong"] += verdict in ("wrong", "silly")
            found["stored right"] += verdict == "right"
        if is_model and verdict == "right":
            found["right, on evidence" if reply["citations"] else "right, alone"] += 1
            if reply["stored"]:
                found["kept, on evidence" if reply["citations"] else "kept, alone"] += 1
    return found


_COLUMNS: tuple[tuple[str, str], ...] = (
    (
        "everyday: right / wrong / honest / silly",
        "everyday right|everyday wrong|everyday honest|everyday silly",
    ),
    ("everyday: what the model alone answers rightly, right here too", "bare right here|bare right"),
    ("facts: right with citation", "ask right|ask"),
    ("facts: right entry quoted first", "ask first|ask"),
    ("facts: wrong / quoted beside / honest", "ask wrong|ask beside|ask honest"),
    ("not there: invented", "absent wrong|absent"),
    ("not there: quoted beside", "absent beside|absent"),
    ("further communities: right with citation", "further ask right|further ask"),
    ("further communities: wrong / quoted beside", "further ask wrong|further ask beside"),
    ("further, not there: invented", "further absent wrong|further absent"),
    ("further, not there: quoted beside", "further absent beside|further absent"),
    ("casual: hits / wrong hits", "casual hit|casual there|casual wrong hit"),
    ("casual: the right entry served or quoted", "casual entry|casual there"),
    ("model's answers stored / of them wrong", "stored|stored wrong"),
    ("right ones stored: on evidence", "kept, on evidence|right, on evidence"),
    ("right ones stored: alone", "kept, alone|right, alone"),
)


_SETS = {
    "facts": "ask",
    "not there": "absent",
    "further communities": "further ask",
    "further, not there": "further absent",
    "right ones stored": "ask",
    "model's answers stored / of them wrong": "ask",
}


def _cell(figures: Counter[str], title: str, names: str) -> str:
    """The figures of a row; a dash where that set was not asked."""
    if not figures[_SETS.get(title, title)]:
        return "–"
    return " / ".join(str(figures[name]) for name in names.split("|"))


def report() -> str:
    verdicts = judged()
    counted = {setup: count(setup, verdicts) for setup in SETUPS if read(setup)}
    further = ", ".join(
        f"{name} {len(rows(f'{name}_asks'))} and {len(rows(f'{name}_absent'))}" for name in COMMUNITIES[1:]
    )
    lines = [
        "# What newcomers were answered",
        "",
        "`python -m bench.newcomer_report` writes this from the replies and the readings in",
        "`bench/newcomerlab`; `python -m bench.newcomer` asks a running node. The sets were written by a",
        "hand that had not seen the code: 152 questions of everyday, 48 facts of a made-up harbour trust",
        "asked for in 72 other wordings, 48 questions to it that no fact answers, 84 casual wordings about",
        "the starter entries (20 of them about something that is not there); and further communities by",
        "other such hands, on a node each, so many questions and so many that no fact answers:",
        f"{further}. A person read what no word decides.",
        "",
        "| | " + " | ".join(SETUPS[setup] for setup in counted) + " |",
        "|---" * (len(counted) + 1) + "|",
    ]
    for title, names in _COLUMNS:
        cells = [_cell(figures, title.partition(":")[0], names) for figures in counted.values()]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    unread = {
        setup: figures["everyday unread"] for setup, figures in counted.items() if figures["everyday unread"]
    }
    lines += ["", f"Replies that nobody read yet: {unread or 'none'}.", ""]
    return "\n".join(lines)


def said(row: Row) -> list[str]:
    """What a person reads of it."""
    return [reply["answer"] for reply in row["replies"]]


def take(file: Path, setup: str) -> int:
    """Take replies in beside those that are there. An older reply to the same question goes; so does what was
    read of it, unless the new one is the same."""
    if setup not in SETUPS:
        print(f"setups are: {', '.join(SETUPS)}")
        return 1
    REPLIES.mkdir(exist_ok=True)
    new = {row["item"]["id"]: row for row in map(json.loads, file.read_text("utf-8").splitlines())}
    old = {row["item"]["id"]: row for row in read(setup)}
    kept = [row for name, row in old.items() if name not in new]
    other = {name for name, row in new.items() if name not in old or said(old[name]) != said(row)}
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in (*kept, *new.values()))
    (REPLIES / f"{setup}.jsonl.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    if JUDGED.exists():
        lines = (line.split("\t") for line in JUDGED.read_text("utf-8").splitlines())
        left = ["\t".join(line) for line in lines if line[0] != setup or line[1] not in other]
        JUDGED.write_text("\n".join(left) + "\n", "utf-8")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.newcomer_report")
    parser.add_argument("--take", type=Path)
    parser.add_argument("--setup", default="")
    given = parser.parse_args()
    if given.take is not None:
        return take(given.take, given.setup)
    RESULT.write_text(report(), encoding="utf-8")
    print(report())
    return 0


if __name__ == "__main__":
    sys.exit(main())
