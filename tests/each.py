"""Many rows, one test: what pytest does for an item costs more than most rows of a table."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

Test = Callable[..., Any]
_SHOWN_CHARS = 200


def each(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Like ``pytest.mark.parametrize``, within one test: every row is run, and all that fail are named.

    For rows that share nothing: fixtures are made once for all of them."""
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [dict(zip(wanted, row if len(wanted) > 1 else (row,), strict=True)) for row in rows]
    assert table, "no rows"

    def decorate(test: Test) -> Test:
        if inspect.iscoroutinefunction(test):

            @functools.wraps(test)
            async def run(**fixtures: Any) -> None:
                failed = _Failed()
                for row in table:
                    with failed.noted(row):
                        await test(**fixtures, **row)
                failed.tell(len(table))

        else:

            @functools.wraps(test)
            def run(**fixtures: Any) -> None:
                failed = _Failed()
                for row in table:
                    with failed.noted(row):
                        test(**fixtures, **row)
                failed.tell(len(table))

        seen = inspect.signature(test)
        missing = [name for name in wanted if name not in seen.parameters]
        assert not missing, f"the test takes no {missing}"
        left = [one for name, one in seen.parameters.items() if name not in wanted]
        vars(run)["__signature__"] = seen.replace(parameters=left)
        return run

    return decorate


class _Failed:
    """The rows that failed."""

    def __init__(self) -> None:
        self._all: list[BaseException] = []

    @contextmanager
    def noted(self, row: dict[str, Any]) -> Iterator[None]:
        try:
            yield
        except (Exception, pytest.fail.Exception) as exc:
            shown = ", ".join(f"{name}={repr(value)[:_SHOWN_CHARS]}" for name, value in row.items())
            exc.add_note(f"in the row {shown}")
            self._all.append(exc)

    def tell(self, count: int) -> None:
        if self._all:
            raise BaseExceptionGroup(f"{len(self._all)} of {count} rows", self._all)
