"""What the privacy gate finds, what it lets pass, and what it takes: ``python -m bench.privacy [--show]``.

The sets, the fairest first. With ``--blind FOLDER`` a set of ``privacylab/FOLDER/*.jsonl`` that another
hand wrote, to be measured once: of it nothing is ever shown. *Eighth* to *first blind* (``blind8`` to
``blind``): as blind when they were first measured (see ``FIRST``), then read and mended, and ``personal`` is
fitted to them, so development sets now. *Held*: ``privacylab/held/*.jsonl``, passwords in running
words and knowledge about passwords, numbers and names, written before the rules that they measure. *Frames*
and *made*: texts of ``privacylab.frames`` and ``privacylab.make`` under seeds that were not used in
development. *Hand*: ``privacylab/hand*.jsonl``, written with the rules. All these only say that nothing was
lost since; what generalises is measured by ``python -m bench.privacylab.fit``, which holds out one set
after the other.
``--show`` lists the errors of all but the blind set.

A line of a set holds ``text``, or ``pieces`` to be joined: so that scanners of repositories do not take an
invented key for a real one.

Beside the gate stands ``detect-secrets`` alone (its ``scan_line`` with the entropy rules off). An interval
is Wilson's, 95 %. Writes ``bench/results/privacy.md``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from detect_secrets.core.scan import scan_line
from detect_secrets.settings import transient_settings

from bench.__main__ import machine
from bench.privacylab import frames
from bench.privacylab.make import STATEMENTS, digit_heavy, positives
from node.privacy import load, private_reason

LAB = Path(__file__).with_name("privacylab")
RESULT = Path(__file__).with_name("results") / "privacy.md"
SEED = 20_261_122
EACH = 200
NEGATIVES = 2_000
NONE = "none"
HOSTILE = (
    "my ",
    "a@",
    "a-",
    "1.1.1.",
    "+1 ",
    "i am ",
    "I am A ",
    "password: ",
    "eyJa.",
    "4111 1111 ",
    "(at)",
    "my bank account ",
    "Regards,\n",
)
FIRST = (
    "As first measured, unseen. Second blind set (2026-11-22 18:09 UTC): account .825, address .850, "
    "birth_date .833, health .833, ip .880, name .675, national_id .940, password .880, phone .950, the "
    "other kinds 1.000, all .911, false alarms .018. Third (19:19 UTC): account .867, address .860, "
    "birth_date .600, health .760, ip .950, name .683, national_id .975, password .725, phone .920, the "
    "other kinds 1.000, all .856, false alarms .023. Fourth (22:40 UTC): account .977, address .952, "
    "birth_date .881, health .738, mac .976, name .809, password .833, the other kinds 1.000, false "
    "alarms .034. Fifth (2026-11-23 04:35 UTC): account .881, address .889, birth_date .800, health .600,"
    " name .812, password .875, phone .955, the other kinds 1.000, false alarms .086. Sixth (05:15 UTC): "
    "account .983, address .950, birth_date .780, health .760, mac .978, name .900, national_id .960, "
    "password .933, the other kinds 1.000, false alarms .022. Seventh (05:23 UTC), of three kinds: mac "
    ".950, national_id 1.000, password .880. Eighth (05:26 UTC), of one: mac .990. Between any two of "
    "them what the earlier one had shown was mended."
)
_PLUGINS = (
    "ArtifactoryDetector",
    "AWSKeyDetector",
    "AzureStorageKeyDetector",
    "BasicAuthDetector",
    "CloudantDetector",
    "DiscordBotTokenDetector",
    "GitHubTokenDetector",
    "GitLabTokenDetector",
    "IbmCloudIamDetector",
    "IbmCosHmacDetector",
    "JwtTokenDetector",
    "MailchimpDetector",
    "NpmDetector",
    "OpenAIDetector",
    "PrivateKeyDetector",
    "PypiTokenDetector",
    "SendGridDetector",
    "SlackDetector",
    "SoftlayerDetector",
    "SquareOAuthDetector",
    "StripeDetector",
    "TelegramBotTokenDetector",
    "TwilioKeyDetector",
    "KeywordDetector",
)


@dataclass(frozen=True, slots=True)
class Row:
    """A labelled text; ``kind`` "none": it may be public."""

    text: str
    kind: str


def read(paths: Iterable[Path]) -> list[Row]:
    """The rows of files of JSON lines."""
    rows = []
    for path in sorted(paths):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.strip():
                row = json.loads(line)
                text = row["text"] if "text" in row else "".join(row["pieces"])
                rows.append(Row(str(text), str(row["kind"])))
    return rows


def halves(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """The develop and the judge half: by the first hex digit of the text's SHA-256, even or odd."""
    develop: list[Row] = []
    judge: list[Row] = []
    for row in rows:
        odd = int(hashlib.sha256(row.text.encode()).hexdigest()[0], 16) % 2
        (judge if odd else develop).append(row)
    return develop, judge


def made() -> list[Row]:
    """Texts from the generator."""
    rows = [Row(text, kind) for text, kind in positives(SEED, EACH)]
    return rows + [Row(text, NONE) for text in digit_heavy(SEED, NEGATIVES)]


def interval(found: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    if of == 0:
        return 0.0, 1.0
    z, share = 1.96, found / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * ((share * (1 - share) + z * z / (4 * of)) / of) ** 0.5 / (1 + z * z / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def secrets_alone(text: str) -> bool:
    """Whether detect-secrets, without entropy, finds anything."""
    return any(True for line in text.splitlines() for _ in scan_line(line))


def gate(text: str) -> bool:
    """Whether the gate keeps the text here."""
    return private_reason(text) is not None


def table(rows: Sequence[Row], own: Callable[[str], bool], other: Callable[[str], bool]) -> list[str]:
    """Recall by kind and false alarms, with the other detector's beside."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        by_kind[row.kind].append(row.text)
    out = [
        "| kind | texts | kept here | share | 95 % | detect-secrets |",
        "| --- | ---: | ---: | ---: | --- | ---: |",
    ]
    for kind in sorted(by_kind, key=lambda one: (one == NONE, one)):
        texts = by_kind[kind]
        found, others = sum(map(own, texts)), sum(map(other, texts))
        low, high = interval(found, len(texts))
        name = "*false alarms* (none)" if kind == NONE else kind
        out.append(
            f"| {name} | {len(texts)} | {found} | {found / len(texts):.3f} | {low:.3f} to {high:.3f} "
            f"| {others / len(texts):.3f} |"
        )
    positive = [row.text for row in rows if row.kind != NONE]
    if positive:
        found = sum(map(own, positive))
        low, high = interval(found, len(positive))
        others = sum(map(other, positive))
        out.append(
            f"| **all that is private** | {len(positive)} | {found} | {found / len(positive):.3f} | "
            f"{low:.3f} to {high:.3f} | {others / len(positive):.3f} |"
        )
    return out


def _took_ms(run: Callable[[str], object], texts: Sequence[str]) -> tuple[float, float]:
    """Median and 95th percentile of processor time for one text, in milliseconds."""
    took = []
    for text in texts:
        started = time.process_time_ns()
        for _ in range(5):
            run(text)
        took.append((time.process_time_ns() - started) / 5e6)
    return statistics.median(took), statistics.quantiles(took, n=20)[-1]


def _times(rows: Sequence[Row]) -> list[str]:
    texts = [row.text for row in rows][::7][:600]
    prose = (" ".join(row.text for row in rows if row.kind == NONE) * 2)[:60_000]
    thousands = [prose[start : start + 1_000] for start in range(0, len(prose) - 1_000, 1_500)]
    thousands = [text for text in thousands if not gate(text)]
    out = ["| texts | gate, median | gate, 95 % | detect-secrets, median |", "| --- | ---: | ---: | ---: |"]
    for name, some in (
        ("as above (short)", texts),
        ("1,000 characters of questions, nothing private", thousands),
    ):
        if len(some) < 2:
            continue
        own, other = _took_ms(gate, some), _took_ms(secrets_alone, some)
        out.append(f"| {name} ({len(some)}) | {own[0]:.2f} ms | {own[1]:.2f} ms | {other[0]:.2f} ms |")
    worst = 0.0
    for part in HOSTILE:
        text = (part * (65_536 // len(part) + 1))[:65_536]
        started = time.process_time()
        gate(text)
        worst = max(worst, time.process_time() - started)
    out.append(f"\nThe slowest of {len(HOSTILE)} hostile texts of 64 KiB: {worst:.2f} s of processor time.")
    return out


def development() -> list[tuple[str, list[Row]]]:
    """The sets whose errors may be read, with their titles."""
    framed = [Row(text, kind) for text, kind in frames.made(SEED, 2)[0]]
    return [
        *(
            (f"{title} blind set: a development set now", read((LAB / folder).glob("*.jsonl")))
            for title, folder in (
                ("Eighth", "blind8"),
                ("Seventh", "blind7"),
                ("Sixth", "blind6"),
                ("Fifth", "blind5"),
                ("Fourth", "blind4"),
                ("Third", "blind3"),
                ("Second", "blind2"),
                ("First", "blind"),
            )
        ),
        ("Held: passwords in running words, and knowledge near them", read((LAB / "held").glob("*.jsonl"))),
        ("Made from frames", framed),
        ("Made by the generator", made()),
        ("Written with the rules", read(LAB.glob("hand*.jsonl"))),
    ]


def blind(folder: str) -> list[Row]:
    """The rows of a blind set; raises ``ValueError`` where there are none."""
    rows = read((LAB / folder).glob("*.jsonl"))
    if not rows:
        raise ValueError(f"no texts in {LAB.name}/{folder}")
    return rows


def report(*, unseen: str | None) -> list[str]:
    """The whole page; with the blind set of the folder ``unseen`` where asked for."""
    out = ["# The privacy gate", "", *(f"- {line}" for line in machine()), ""]
    sets = development()
    if unseen is not None:
        sets.insert(0, (f"Blind set {unseen}: measured once, nothing of it read", blind(unseen)))
    with transient_settings({"plugins_used": [{"name": name} for name in _PLUGINS]}):
        for title, rows in sets:
            if rows:
                out += [f"## {title}", "", *table(rows, gate, secrets_alone), ""]
        out += ["## Time", "", *_times([row for _, rows in sets for row in rows]), ""]
    out += [FIRST, ""]
    out.append(
        f"Kinds {', '.join(sorted(STATEMENTS))} of the generator are self-statements; the aim for "
        f"those is 0.8, for identifiers 0.98, for false alarms 0.03."
    )
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--show", action="store_true", help="list the errors of the development sets")
    parser.add_argument("--blind", metavar="FOLDER", help="measure a blind set of privacylab as well")
    options = parser.parse_args(arguments)
    load()
    if options.show:
        for row in [row for _, rows in development() for row in rows]:
            reason = private_reason(row.text)
            if (reason is None) == (row.kind != NONE):
                print(f"{row.kind}: {reason}: {row.text!r}")
    page = "\n".join(report(unseen=options.blind)) + "\n"
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(page, encoding="utf-8")
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
