"""How a chat prompt is laid out for a model, so that no text of others becomes a control token. Pure."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

_INSTRUCTED = re.compile(r"(?<![a-z])(?:instruct\w{0,8}|chat|it|assistant)(?![a-z])", re.IGNORECASE)

Messages: TypeAlias = Sequence[tuple[str, str]]
"""(role, text) in order."""
Render = Callable[[Messages], str]


class Refused(Exception):
    """The request cannot be served as it is; the message says why."""


def is_instructed(stem: str, metadata: Mapping[str, str]) -> bool:
    """Whether the names in a model's file, or else its own, say that it was taught turns."""
    names = [metadata.get(f"general.{key}", "") for key in ("finetune", "name", "basename")]
    return any(_INSTRUCTED.search(name) for name in (*names, stem))


def chatml(messages: Messages) -> str:
    """The turns as most instruct models were taught them when their file does not say."""
    turns = "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in messages)
    return f"{turns}<|im_start|>assistant\n"


def lay_out(
    render: Render, system: str, user: str, errors: tuple[type[Exception], ...], turns: Messages = ()
) -> list[tuple[str, bool]]:
    """The prompt as (text, is it the template's) in order. Where the template drops or refuses the system
    message, it goes in front of the user's. Raises ``Refused`` for a template that drops the user's too.

    The template is rendered over placeholders: no text of others can pass for markup, or reach the template's
    own logic."""
    marks: dict[str, str] = {}

    def mark(text: str) -> str:
        name = f"m{secrets.token_hex(12)}"
        marks[name] = text
        return name

    before = [
        (role, mark(text)) for turn in turns for role, text in zip(("user", "assistant"), turn, strict=True)
    ]
    first, last = mark(system) if system else "", mark(user)
    attempts = [[*before, ("user", last)]]
    if system:
        attempts = [
            [("system", first), *before, ("user", last)],
            [*before, ("user", f"{first}\n\n{last}")],
        ]
    reason = "it drops messages"
    for messages in attempts:
        try:
            rendered = render(messages)
        except errors as exc:
            reason = str(exc)[:200]
            continue
        if all(mark in rendered for mark in marks):
            parts = re.split("(" + "|".join(marks) + ")", rendered)
            return [(marks.get(part, part), part not in marks) for part in parts if marks.get(part, part)]
    raise Refused(f"the model's chat template cannot be used: {reason}")
