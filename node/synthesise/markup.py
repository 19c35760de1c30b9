"""The marks that this node and chat models put round texts: shared by whoever writes them and whoever strips
them.

Pure. A mark found in outside text is never a mark; ``defang`` turns it into ordinary words.
"""

from __future__ import annotations

import re

OPEN = "<<<DATA {tag}>>>"
CLOSE = "<<<END {tag}>>>"

ADAPTER_LABEL = "ADAPTER CONTEXT"
STORED_LABEL = "STORED CONTEXT"
QUESTION_LABEL = "QUESTION"
HISTORY_LABEL = "CONVERSATION SO FAR"
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
    "---",
)
"""Where a model has begun to write the next turn itself (S0-12)."""

CHAT_TOKEN = re.compile(
    r""
    r"<\|[^|<>\n]{1,40}\|>|</?s>|<(?:start|end)_of_turn>|<(?:bos|eos|pad|unk)>|\[/?INST\]|<</?SYS>>|\[/?AVAILABLE_TOOLS\]",
    re.IGNORECASE,
)
DATA_MARK = re.compile(r"<{2,}\s*/?\s*(?:DATA|END)\b[^<>\n]{0,80}>{2,}|<{3,}|>{3,}", re.IGNORECASE)
LABEL_LINE = re.compile(
    r"(?m)^[ \t]*(?:#{1,6}[ \t]*|\*{1,2})?"
    r"(?:(?:ADAPTER|STORED)[ \t]+CONTEXT|CONTEXT|QUESTION|CONVERSATION SO FAR|INSTRUCTIONS|RULES)\b"
    r"[^:\n]{0,80}:"
)
THINK_TAG = re.compile(
    r"<\s{0,4}(/?)\s{0,4}(think|thinking|thought|reasoning)\b[^<>\n]{0,80}>", re.IGNORECASE
)

_ROLE_LINE = re.compile(
    r"(?mi)^([ \t]*(?:#{1,6}[ \t]*)?(?:system|user|assistant|human|developer|answer|tool)"
    r"(?:[ \t]+(?:message|prompt))?)[ \t]*:"
)
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


_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass|overrule|discard)\b[^.!?\n]{0,40}?"
    r"\b(?:instructions?|rules?|prompts?|directions?|guidelines?|context|constraints?|everything "
    r"(?:above|before)|"
    r"(?:the|all|anything) (?:above|before|previous|prior))\b"
    r"|\b(?:new|updated|revised|real|actual|secret|hidden) (?:system "
    r")?(?:instructions?|prompt|task|orders?)\s*[:-]"
    r"|\b(?:system|developer) (?:prompt|message|instructions?)\b"
    r"|\b(?:you are now|you're now|from now on,? you|you must now|pretend (?:to be|that you)|act "
    r"as (?:an?|the|if)\b|"
    r"your (?:new|real|only|next) (?:task|role|goal|job|instructions?))"
    r"|\b(?:answer|respond|reply|say|output|print|write|return|repeat|conclude|finish|begin|start)\b"
    r"[^.!?\n]{0,30}?\b(?:only|exactly|nothing but|solely|verbatim|(?:with|by saying) the "
    r"(?:word|words|phrase|sentence|"
    r"string|text|token))\b"
    r"|\b(?:do not|don't|never|must not) (?:mention|reveal|tell the|cite|answer|follow|obey|use "
    r"the context)\b"
    r"|\b(?:to|note (?:to|for)|attention,?|dear|hey,?) (?:the "
    r")?(?:AI|LLM|assistant|chatbot|language model|model)\b"
    r"|\bas an (?:AI|assistant|LLM)\b|\bjailbreak|\bDAN mode\b",
    re.IGNORECASE,
)


def gives_orders(sentence: str) -> bool:
    """Whether a sentence of outside text speaks to the model that reads it rather than about its subject.

    A net for the usual forms, with holes: it lowers the odds and guarantees nothing, which is why the marks,
    the rules of the prompt and the absence of tools stand beside it."""
    return _ORDER.search(sentence.replace("’", "'")) is not None


def debris(text: str) -> bool:
    """Whether marks that belong to a prompt or a chat template are left in ``text``."""
    return any(pattern.search(text) is not None for pattern in (CHAT_TOKEN, DATA_MARK, THINK_TAG, LABEL_LINE))
