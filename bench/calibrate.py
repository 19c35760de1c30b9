"""Fits what hangs on the embedder or the engines from labelled data, and says what it is worth.

    python -m bench.calibrate [--check] [--data FOLDER] [--only STEP]      (make calibrate)
    python -m bench.calibrate --take FILE --name NAME --model MODEL         take transcripts in

From committed data, in this order: ``evidence`` (``bench.evidence``; first and in a process of its own, for
the confidence reads answers by the packaged reader's new curve), ``confidence`` (``bench/answerlab``; writes
``node/answer/score/answer_model.json`` and ``bench/results/confidence.md``) and ``router``
(``bench/routing_questions.jsonl``). ``gate`` needs ``--data``: what ships learnt from labelled streams too,
which are not committed and set its cut-offs; from the committed families alone it would be a looser one.
``--check`` fits and reports, and writes nothing. A step is a function in ``STEPS``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench import train_router
from bench.answerlab import data
from bench.answerlab.constructed import constructed
from bench.answerlab.fit import HELD_MIN, Row, Worth, borne_out, rows_of, trained, variants, worth, written
from bench.gatelab import train as train_gate
from node.answer.score.calibrated import BAR, FILE, PRECISION, AnswerModel

ROOT = Path(__file__).resolve().parents[1]
MODEL = ROOT / "node" / "answer" / "score" / FILE
RESULT = ROOT / "bench" / "results" / "confidence.md"
STRANGER = "a model that nobody labelled"
NO_STREAMS = "The gate is left out without --data FOLDER: it learns from labelled streams not committed here."


@dataclass(frozen=True, slots=True)
class Step:
    """``run`` takes the data folder and whether to write; it returns an exit status."""

    name: str
    run: Callable[[Path | None, bool], int]


def evidence(folder: Path | None, write: bool) -> int:
    """What relevance weighs and asks, the readers' curves, and whose question it is."""
    for name in ("bench.evidence", "bench.concern"):
        command = [sys.executable, "-m", name, *(["--write"] if write else [])]
        if status := subprocess.run(command, cwd=ROOT, check=False).returncode:
            return status
    return 0


def confidence(folder: Path | None, write: bool) -> int:
    """The confidence in a model's answer."""
    labelled = data.labelled()
    rows = rows_of(labelled)
    made = constructed()
    model, taken = borne_out(AnswerModel.parse(written(trained(rows, made), labelled)), rows)
    text = written(model, labelled)
    report = reported(model, rows, made, taken)
    print(report)
    if write:
        MODEL.write_text(text, encoding="utf-8")
        RESULT.write_text(report, encoding="utf-8")
    return 0


def router(folder: Path | None, write: bool) -> int:
    """The router's semantic head."""
    return train_router.main([] if write else ["--check"])


def gate(folder: Path | None, write: bool) -> int:
    """The cache's gate, with its similarity floor."""
    if folder is None or not write:
        no_check = "the gate has no check: it is trained and written, or left alone"
        print(NO_STREAMS if folder is None else no_check)
        return 0
    return train_gate.main(["--data", str(folder)])


STEPS = (
    Step("evidence", evidence),
    Step("confidence", confidence),
    Step("router", router),
    Step("gate", gate),
)


# --- the report -----------------------------------------------------------------------------------

_HEADER = (
    "| what is judged by | answers | right | told .8 or more | of those right | precision | coverage | ECE "
    "| AUROC | Brier | constant's |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def reported(
    model: AnswerModel,
    rows: Sequence[Row],
    made: Sequence[Row],
    taken: Mapping[str, tuple[float, Worth]],
) -> str:
    """The text of ``bench/results/confidence.md``; ``taken`` are the cuts that were taken away."""
    kept = [row for row in made if row.held and not row.abstained]
    by_label = {label: [row.held for row in rows if row.label == label] for label in data.LABELS}
    lines = [
        "# The confidence in a model's answer, against labels",
        "",
        "`make calibrate` writes this. Half of the questions is kept back by a hash of their id and served",
        "neither fitting nor choosing, but a cut of a model alone that it does not bear out is taken away.",
        "Answers that say themselves that they do not know are not judged.",
        "",
        f"Labelled transcripts: {len(rows)} of {len({row.model for row in rows})} models; "
        + ", ".join(f"{label} {len(held)} ({sum(held)})" for label, held in by_label.items())
        + " (kept back in brackets).",
        "",
    ]
    for title, held in (("Kept back", True), ("Fitted on (for comparison only)", False)):
        lines += [f"## {title}", "", _HEADER]
        lines += _lines_of(model, [row for row in rows if row.held is held and not row.abstained])
        lines.append("")
    lines += [
        "## Constructed answers on evidence, kept back",
        "",
        "Made by program, not said by a model: they show that the rules measure what they should, no more.",
        "The first line leaves answers out that give a fact which was not asked for; the second has them,",
        "and shows that nothing here sees that: it must come from real answers.",
        "",
        _HEADER,
        *_lines_of(model, [row for row in kept if row.right or not row.true_to_evidence]),
        *_lines_of(model, kept),
        "",
    ]
    for name, truth, some in (("found", "found", rows), ("support", "true_to_evidence", made)):
        known = [row for row in some if row.held and row.said.support and getattr(row, truth) is not None]
        if known:
            told = np.array([getattr(model.judge(row.said, ""), name) for row in known])
            true = np.array([float(getattr(row, truth)) for row in known])
            lines.append(f"`{name}`: {_short(worth(told, true, BAR))}")
    lines += ["", "Cuts (the probability from which a head passes the bar; none: it never does): "]
    lines += [f"- {name}: {one.cut}, fitted on {one.fitted_on}" for name, one in sorted(model.heads.items())]
    if taken:
        lines += [
            "",
            f"Cuts that the fitted half gave and the kept-back half took away (asked: {HELD_MIN} or more "
            f"past the cut, {PRECISION} of them right):",
        ]
    lines += [
        f"- {name}: {cut}; kept back, {found.passed_right} of {found.passed} past it are right "
        f"({found.precision:.3f}; {found.coverage:.3f} of what is right)"
        for name, (cut, found) in sorted(taken.items())
    ]
    return "\n".join(lines) + "\n"


def _lines_of(model: AnswerModel, rows: Sequence[Row]) -> list[str]:
    out = []
    for name, some in sorted(variants(rows).items()):
        for engine in ("", STRANGER) if name.startswith("alone") else ("",):
            told = np.array([model.judge(row.said, engine or row.model).value for row in some])
            found = worth(told, np.array([float(row.right) for row in some]), BAR)
            out.append(f"| {name}{', unknown engine' if engine else ''} | {_row(found)} |")
    return out


def _row(found: Worth) -> str:
    numbers = (found.precision, found.coverage, found.ece, found.auroc, found.brier, found.brier_constant)
    counted = (found.answers, found.right, found.passed, found.passed_right)
    return " | ".join([*map(str, counted), *(f"{one:.3f}".replace("nan", "-") for one in numbers)])


def _short(found: Worth) -> str:
    return (
        f"{found.answers} answers, {found.right} true; AUROC {found.auroc:.3f}, ECE {found.ece:.3f}, "
        f"Brier {found.brier:.3f} (constant {found.brier_constant:.3f})"
    )


def main(arguments: Sequence[str]) -> int:
    about = f"{(__doc__ or '.').splitlines()[0]} {NO_STREAMS}"
    parser = argparse.ArgumentParser(prog="bench.calibrate", description=about)
    parser.add_argument("--check", action="store_true", help="fit and report, write nothing")
    parser.add_argument("--data", type=Path, help="folder with labelled streams: train the gate too")
    parser.add_argument("--only", choices=[step.name for step in STEPS], help="this step alone")
    parser.add_argument("--take", type=Path, help="a file that bench.transcripts wrote")
    parser.add_argument("--name", default="", help="the name to take it in under")
    parser.add_argument("--model", default="", help="the model's name, where the file has none")
    options = parser.parse_args(arguments)
    if options.take is not None:
        if not options.name:
            parser.error("--take needs --name")
        print(f"{data.pack(options.take, options.name, options.model)} transcripts taken in")
        return 0
    if options.only == "gate" and options.data is None:
        parser.error(NO_STREAMS)
    for step in STEPS:
        if options.only in (None, step.name) and (status := step.run(options.data, not options.check)):
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
