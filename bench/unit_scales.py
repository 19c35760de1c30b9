"""Writes how large the calculator's units are, ``adapters/math_calculator/unit_scales.json``, by the package
``pint``.

    python -m bench.unit_scales

Each row: a name of pint's, how many root units it is as a fraction, the powers of what it measures, and where
its zero lies. To be run after a change of ``units.toml``.
"""

from __future__ import annotations

import ast
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pint

from adapters.math_calculator import units

OUT = Path(units.__file__).with_name(units.SCALES)


def made() -> str:
    """The file."""
    registry: Any = pint.UnitRegistry(non_int_type=Fraction)
    parsed = [ast.walk(ast.parse(unit.pint, mode="eval")) for unit in units.every()]
    rows = {}
    for name in sorted({node.id for nodes in parsed for node in nodes if isinstance(node, ast.Name)}):
        one, none = (registry.Quantity(Fraction(count), name).to_root_units() for count in (1, 0))
        powers = {kind.strip("[]"): int(power) for kind, power in sorted(one.dimensionality.items())}
        zero = Fraction(none.magnitude)
        rows[name] = (str(Fraction(one.magnitude) - zero), powers, str(zero))
    return (
        "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()) + "\n}\n"
    )


if __name__ == "__main__":
    OUT.write_text(made(), encoding="utf-8")
