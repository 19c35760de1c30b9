"""Signed notes that contradict each other, kept as files for whoever must be convinced.

Promises: of each kind and log at most ``CASES_OF_ONE`` cases are kept, the first ones, and ``CASES_MAX`` of
all logs; the same case is kept once, and one that a kill left half is completed; keeping evidence never
fails the work during which it was found. One case is a few notes as they came, one file each, so that any
checker can read them.
Must not know: what the notes contradict each other about.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping
from pathlib import Path

from node.core.files import Files

log = logging.getLogger("neuroswarm.tlog")

CASES_OF_ONE = 16
"""Cases of one kind against one log. The first ones say enough, and one log's do not keep out another's."""
CASES_MAX = 1_024
"""Cases of one kind: nobody can fill the disk with more."""
_SUFFIX = ".note"


class Evidence:
    """One folder of cases. Blocking; for one thread at a time."""

    def __init__(self, directory: Path, files: Files) -> None:
        self.directory = directory
        self._files = files

    def keep(self, kind: str, case: str, notes: Mapping[str, bytes]) -> bool:
        """Keep the notes of a case, by their role, as ``<kind>-<case>.<role>.note``; these names are ours and
        not a stranger's, and what stands before a case's first ``-`` names its log. False where the case is
        known, there are enough of them or the disk refuses."""
        names = {path.name for path in self._paths(kind)}
        if all(f"{kind}-{case}.{role}{_SUFFIX}" in names for role in notes):
            return False
        others = [one for one in self.cases(kind) if one != case]
        of_one = sum(one.partition("-")[0] == case.partition("-")[0] for one in others)
        if len(others) >= CASES_MAX or of_one >= CASES_OF_ONE:
            return False
        try:
            self._files.make_directories(self.directory, 0o700)
            for role, note in notes.items():
                self._files.replace(self.directory / f"{kind}-{case}.{role}{_SUFFIX}", note, 0o600)
        except OSError as exc:
            log.error("evidence against a log was not kept in %s: %s", self.directory, exc)
            return False
        log.warning("evidence against a log is kept in %s: %s-%s", self.directory, kind, case)
        return True

    def drop(self, kind: str, case: str) -> None:
        """Forget a case that has cleared up."""
        for path in self._paths(kind):
            if _case_of(path, kind) == case:
                with contextlib.suppress(OSError):  # it goes on being counted, which is no harm
                    self._files.unlink(path)

    def cases(self, kind: str) -> list[str]:
        """The cases of a kind."""
        return sorted({_case_of(path, kind) for path in self._paths(kind)})

    def _paths(self, kind: str) -> list[Path]:
        return list(self.directory.glob(f"{kind}-*{_SUFFIX}"))


def _case_of(path: Path, kind: str) -> str:
    return path.name.removeprefix(f"{kind}-").removesuffix(_SUFFIX).rpartition(".")[0]
