"""The marks that this node and chat models put round texts: shared by whoever writes them and whoever strips
them.

Pure. A mark found in outside text is never a mark; ``defang`` turns it into ordinary words.
"""

from __future__ import annotations

import re

from node.language import verbatim
from node.language.orders import CHAT_TOKEN

OPEN = "<<<DATA {tag}>>>"
CLOSE = "<<<END {tag}>>>"

ADAPTER_LABEL = "ADAPTER CONTEXT"
STORED_LABEL = "STORED CONTEXT"
QUESTION_LABEL = "QUESTION"
PASTED_LABEL = "TEXT FROM THE USER"
ANSWER_LABEL = "ANSWER"

STOP = (
    "<|im_end|>",
    "<|im_start|>",
    "<|eot_id|>",
    "<end_of_turn>",
    "<start_of_turn>",
    "\n\nQUESTION:",
    "\n\nCONTEXT:",
    f"\n{ADAPTER_LABEL}",
    f"\n{STORED_LABEL}",
    f"\n{PASTED_LABEL}",
)
"""Where a model has begun to write the next turn itself (S0-12). ``---`` is none: it stands in tables and
between parts of an answer. The label behind it in a turn is one, and a rule at the very end is dropped."""

CONTINUATION_STOP = ("\n",)
"""A model that only continues text does not know when it has answered; the examples before the question
answer in one line each."""

DATA_MARK = re.compile(r"<{2,}\s*/?\s*(?:DATA|END)\b[^<>\n]{0,80}>{2,}|<{3,}|>{3,}", re.IGNORECASE)
LABEL_LINE = re.compile(
    r"(?m)^[ \t]*(?:#{1,6}[ \t]*|\*{1,2})?"
    r"(?:(?:ADAPTER|STORED)[ \t]+CONTEXT|CONTEXT|TEXT FROM THE USER|QUESTION|INSTRUCTIONS"
    r"|RULES)\b"
    r"[^:\n]{0,80}:"
)
PROMPT_LABELS = (
    ADAPTER_LABEL, STORED_LABEL, "CONTEXT", QUESTION_LABEL, "INSTRUCTIONS", "RULES",
)  # fmt: skip
THINK_TAG = re.compile(
    r"<\s{0,4}(/?)\s{0,4}(think|thinking|thought|reasoning)\b[^<>\n]{0,80}>", re.IGNORECASE
)

_OWN_MARK = re.compile(r"<{2,}\s*/?\s*(?:DATA|END)\b[^<>\n]{0,80}>{2,}", re.IGNORECASE)
_ROLE_LINE = re.compile(
    r"(?mi)^([ \t]*(?:#{1,6}[ \t]*)?(?:system|user|assistant|human|developer|answer|tool)"
    r"(?:[ \t]+(?:message|prompt))?)[ \t]*:"
)
_TEMPLATE_ROLE = re.compile(
    r"(?m)^([ \t]*(?:#{1,6}[ \t]*)?(?=[A-Z])(?i:system|user|assistant|human|developer|answer|tool)"
    r"(?i:[ \t]+(?:message|prompt))?)[ \t]*:"
)
"""As chat templates write it. ``user: root`` is a line of settings."""
_NUMBER_ALONE = re.compile(
    r"(?m)(^[ \t>#*+|/;%-]*|[\w.;!?…。！？)\"'”’»|][ \t]+|[.;!?…。！？][ \t]*)"
    r"(?<!\breturn )(?<!\byield )(?<!\bin )((?:\[\d{1,3}\][ \t]*)+)"
)
"""Numbers in code that could pass for a source's: they begin a line, or stand behind a word and a blank.
``items[0]`` and ``= [1]`` can't."""
_ROUND = str.maketrans("[]", "()")
_SOURCE_NUMBER = re.compile(r"\[(\d{1,3})\]")
_RULER = re.compile(r"-{3,}")


def defang(text: str) -> str:
    """``text`` without anything that could pass for a turn mark, a label, a data mark or a source number."""
    for pattern in (CHAT_TOKEN, DATA_MARK, THINK_TAG):
        text = pattern.sub("\n", text)
    text = LABEL_LINE.sub(lambda match: match.group().lower().replace(":", " -"), text)
    text = _ROLE_LINE.sub(r"\1 -", text)
    text = _SOURCE_NUMBER.sub(r"(\1)", text)
    return _RULER.sub("–", text)


def defang_stored(text: str) -> str:
    """The same, but from code, tables and mathematics goes only what could pass for a turn, for one of our
    marks or labels, or for the number of a source: with each other sign they would lose their meaning."""
    text = verbatim.outside(text, defang, verbatim.spans(text, quotes=False))
    for pattern in (CHAT_TOKEN, _OWN_MARK, THINK_TAG):
        text = pattern.sub("\n–", text)  # neither blank nor empty: what stood around it could make a new mark
    text = LABEL_LINE.sub(lambda match: match.group().lower(), text)
    text = _TEMPLATE_ROLE.sub(r"\1 -", text)
    return _NUMBER_ALONE.sub(lambda match: match.group(1) + match.group(2).translate(_ROUND), text)


def defang_own(text: str) -> str:
    """The same for a text that its reader sent and asks about: only what could pass for our marks or for a
    turn goes, for code and tables lose their meaning with each bracket that is changed."""
    for pattern in (CHAT_TOKEN, _OWN_MARK):
        text = pattern.sub(" ", text)
    return LABEL_LINE.sub(lambda match: match.group().lower(), text)
