"""Files that code hands out by ``save(name, data)``: small tables, texts and pictures, no paths."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from typing import Any

from node.agent.sandbox.ran import FILES_MAX, File, Limits

_MEDIA = {"csv": "text/csv", "txt": "text/plain", "json": "application/json", "png": "image/png"}
_NAME = re.compile(rf"[A-Za-z0-9][\w-]{{0,60}}\.({'|'.join(_MEDIA)})", re.ASCII)
_PNG = b"\x89PNG\r\n\x1a\n"


def file_of(name: Any, data: Any) -> File:
    """``data``: text, bytes, a list of rows, or a table of pandas. Raises ``ValueError``."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"a file's name is letters and digits and ends with one of .{', .'.join(_MEDIA)}")
    ending = name.rsplit(".", 1)[1]
    if isinstance(data, str):
        given = data.encode()
    elif isinstance(data, bytes):
        given = data
    elif isinstance(data, list):
        text = io.StringIO()
        csv.writer(text).writerows(row if isinstance(row, list | tuple) else [row] for row in data)
        given = text.getvalue().encode()
    elif callable(getattr(data, "to_csv", None)):
        given = str(data.to_csv()).encode()
    else:
        raise ValueError("save takes text, bytes, a list of rows or a table")
    if (ending == "png") != given.startswith(_PNG):
        raise ValueError("a .png file holds a picture, and no other file does")
    return File(name, _MEDIA[ending], given)


def saver(send: Callable[[File], None], limits: Limits) -> Callable[[Any, Any], None]:
    """The function ``save`` of one run."""
    count = 0

    def save(name: Any, data: Any) -> None:
        nonlocal count
        made = file_of(name, data)
        if len(made.data) > limits.file_bytes:
            raise ValueError(f"a file may have {limits.file_bytes} bytes, not {len(made.data)}")
        if count >= FILES_MAX:
            raise ValueError(f"no more than {FILES_MAX} files can be saved")
        count += 1
        send(made)

    return save
