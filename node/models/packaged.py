"""Models that lie in package registries in parts (``packaged.toml``): what each is, and its pinned parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from node.core.errors import BadInput
from node.language.tables import read_table


@dataclass(frozen=True, slots=True)
class Part:
    """One file in one wheel."""

    package: str
    version: str
    member: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A GGUF that lies in a registry in parts. ``size`` in bytes, ``sha256`` of the whole."""

    name: str
    what: str
    origin: str
    sha256: str
    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def file_in(self, folder: Path) -> Path:
        """The finished file."""
        return folder / f"{self.name}.gguf"

    def partial_in(self, folder: Path) -> Path:
        """The file while parts are missing."""
        return folder / "parts" / f"{self.name}.partial"


def _parts(row: dict[str, Any]) -> Iterator[Part]:
    for before, line in enumerate(row["parts"].split("\n")[:-1]):
        size, sha256 = line.split()
        package, member = (row[key].format(n=before + 1, before=before) for key in ("package", "member"))
        yield Part(package, row["version"], member, int(size), sha256)


CATALOGUE = tuple(
    PackagedModel(row["name"], row["what"], row["origin"], row["sha256"], tuple(_parts(row)))
    for row in read_table("node.models", "packaged.toml")["models"]
)


def find(name: str) -> PackagedModel:
    """The model of that name. Raises ``BadInput``."""
    for model in CATALOGUE:
        if model.name == name:
            return model
    known = ", ".join(model.name for model in CATALOGUE)
    raise BadInput(f"there is no packaged model {name}; there are: {known}", field="name")
