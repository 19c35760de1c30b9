"""What fails on the way to a command's end is said in one sentence."""

from __future__ import annotations

import errno

import pytest

from node.cli import main


def test_a_disk_that_fails_where_nobody_expected_it_is_told_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error", "data/erased")

    monkeypatch.setitem(main.COMMANDS, "keys show", fails)
    assert main.main(["keys", "show"]) == 1
    said = capsys.readouterr().err
    assert "keys show cannot go on" in said
    assert "data/erased" in said
