"""The table of commands: each has something that runs it, and its choices are those of the rooms."""

from __future__ import annotations

import pytest

from node.cli.keys import USES
from node.cli.main import COMMANDS
from node.cli.parser import made
from node.language.tables import read_table
from node.peers.rules.values import Level

TABLE = read_table("node.cli", "commands.toml")["commands"]


def test_each_command_is_run_by_something() -> None:
    assert {name for name, row in TABLE.items() if "options" in row} == COMMANDS.keys()


def test_choices_are_those_of_the_rooms() -> None:
    choices = {
        (name, option["flag"]): option["choices"]
        for name, row in TABLE.items()
        for option in row.get("options", ())
        if "choices" in option
    }
    assert choices["peers trust", "--level"] == [level.value for level in Level]
    assert choices["keys rotate", "use"] == list(USES)


@pytest.mark.parametrize(("text", "seconds"), [("90m", 5_400), ("45s", 45), ("2w", 1_209_600), ("7", 7)])
def test_a_time_is_read_in_its_unit(text: str, seconds: int) -> None:
    assert made().parse_args(["cache", "invalidate", "--older-than", text]).older_than == seconds


@pytest.mark.parametrize("text", ["", "h", "1.5h", "-1d", "1y", "12345678901"])
def test_what_is_no_time_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        made().parse_args(["cache", "invalidate", f"--older-than={text}"])
    assert "is no time such as" in capsys.readouterr().err


def test_an_option_has_the_value_that_the_table_says() -> None:
    said = {"name": "qwen2.5-coder-1.5b", "engine": "auto", "yes": False, "no_build": False}
    unsaid = dict.fromkeys(("config", "data_dir", "dir", "find_links"))
    read = made().parse_args(["model"])
    assert vars(read) == {"command": "model", "run": "model", "has_statuses": False, **said, **unsaid}
