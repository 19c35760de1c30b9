"""``make calibrate`` on made-up transcripts; and what ships was made from the data that is committed."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from bench import calibrate
from bench.answerlab import data
from bench.answerlab.fit import FEATURES, Row, digest_of
from node.answer.score.answer_features import Answered
from node.answer.score.calibrated import AnswerModel
from node.core.model import Support

STALE = "answer_model.json was made from other {}: run `make calibrate` and commit what it writes"


def test_what_ships_was_made_from_what_is_committed() -> None:
    shipped = json.loads(calibrate.MODEL.read_text(encoding="utf-8"))
    assert shipped.get("features") == FEATURES, STALE.format("features")
    assert shipped.get("data") == digest_of(data.labelled()), STALE.format("transcripts or labels")


def _made(number: int) -> Row:
    true, held = number % 2 == 1, number > 7
    support = Support(words=true, weakest=true, figures=true, names=true, question=1.0, cited=True)
    said = Answered("Who?", "Ada.", support=support, grounded=True)
    return Row(f"w{number}", said, true, "", "", held, found=True, true_to_evidence=true)


def test_the_confidence_is_fitted_and_kept_only_without_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, labels = "", ""
    for number in range(16):
        first = {"text": f"It was Ada{' of 1815' * (number % 2)}.", "complete": True, "logprobs": [-0.1]}
        rows += json.dumps({"id": f"q{number}", "q": "Who?", "model": "tiny-1b", "first": first}) + "\n"
        labels += f"q{number}\tm\t{('right', 'wrong')[number % 2]}\t\n"
    (tmp_path / "out.jsonl").write_text(rows, encoding="utf-8")
    (tmp_path / "labels.tsv").write_text(labels, encoding="utf-8")
    data.pack(tmp_path / "out.jsonl", "m", "", tmp_path)
    model, report = tmp_path / "model.json", tmp_path / "report.md"
    monkeypatch.setattr(data, "labelled", partial(data.labelled, tmp_path))
    monkeypatch.setattr(calibrate, "constructed", lambda: [_made(number) for number in range(12)])
    monkeypatch.setattr(calibrate, "MODEL", model)
    monkeypatch.setattr(calibrate, "RESULT", report)
    assert calibrate.main(["--only", "confidence", "--check"]) == 0
    told = capsys.readouterr().out
    assert "Labelled transcripts: 16 of 1 models; right 8" in told
    assert not model.exists() | report.exists()
    assert calibrate.main(["--only", "confidence"]) == 0
    assert report.read_text(encoding="utf-8") in told
    text = model.read_text(encoding="utf-8")
    first, *others = data.labelled()
    assert AnswerModel.parse(text).knows("tiny-1b")
    assert json.loads(text)["data"] == digest_of([*others, first])
    assert json.loads(text)["data"] != digest_of([*others, replace(first, label="silly")])


def test_all_but_the_gate_runs_without_streams(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[object] = []

    def noted(name: str, _: Path | None, write: bool) -> int:
        ran.append(f"{name} {write}")
        return 0

    steps = [replace(step, run=partial(noted, step.name)) for step in calibrate.STEPS if step.name != "gate"]
    monkeypatch.setattr(calibrate, "STEPS", (*steps, calibrate.STEPS[-1]))
    monkeypatch.setattr(calibrate.train_gate, "main", ran.append)
    assert calibrate.main(["--check"]) == 0
    assert ran == ["evidence False", "confidence False", "router False"]
    assert calibrate.NO_STREAMS in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        calibrate.main(["--only", "gate"])
    assert calibrate.main(["--only", "gate", "--data", "streams"]) == 0
    assert ran[3:] == [["--data", "streams"]]
