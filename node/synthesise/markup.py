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
    r"<\|[^|<>\n]{1,40}\|>|</?s>|<(?:start|end)_of_turn>|<(?:bos|eos|pad|unk)>"
    r"|\[/?INST\]|<</?SYS>>|\[/?AVAILABLE_TOOLS\]",
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


_SPOKEN_TO = (
    r"(?:\A\W*|[-–,:;]\s{1,3}|\bplease\s{1,3}|\byou (?:must|should|shall|will|are to|have to|need to)\s{1,3})"
)
"""Where an order begins. A statement has a subject instead: "The council may override the rules"."""
_GUIDANCE = r"(?:instructions?|rules?|prompts?|messages?|directions?|guidelines?|context|constraints?)"
_MACHINE = r"(?:(?:AI )?(?:language )?model|AI(?: assistant)?|LLM|assistant|chatbot)s?\b"
_ORDER = re.compile(
    "|".join(
        (
            # forget what came before
            rf"\b(?:ignore|disregard|forget)\b[^.!?\n]{{0,30}}?\b(?:previous|prior|above|earlier|your)"
            rf" (?:\w{{1,20}} )?{_GUIDANCE}",
            rf"\b(?:ignore|disregard|forget)\b[^.!?\n]{{0,30}}?\b{_GUIDANCE} (?:above|before|you)\b",
            rf"{_SPOKEN_TO}(?:ignore|disregard|forget|override|bypass|overrule|discard)\b"
            rf"[^.!?\n]{{0,40}}?\b(?:{_GUIDANCE}|question|other (?:documents|sources)"
            r"|above|before|previous|prior)\b",
            # be somebody else, do something else
            r"\b(?:you are now|you're now|from now on,? you|you must now)\b",
            rf"{_SPOKEN_TO}(?:pretend (?:to be|that|you)|act as (?:an?|the|if))\b",
            r"\byour (?:new|real|only|next) (?:task|role|goal|job|instructions?)\b",
            r"\b(?:new|updated|revised|real|actual|secret|hidden) (?:system )?"
            r"(?:instructions?|prompt|task|orders?)\s?[:-]",
            # say this, do not say that
            rf"{_SPOKEN_TO}(?:answer|respond|reply|say|output|print|write|return|repeat)\b"
            r"[^.!?\n]{0,30}?\b(?:only|exactly|nothing but|solely|verbatim)\b",
            rf"{_SPOKEN_TO}(?:answer|respond|reply|say|conclude|finish|end|begin|start)\b[^.!?\n]{{0,30}}?"
            r"\b(?:with|by saying) the (?:words?|phrase|sentence|string|text|token)\b",
            rf"{_SPOKEN_TO}(?:do not|don't|never|not) (?:(?:mention|cite)\b|(?:answer|tell|obey|follow|use) "
            rf"(?:the|any|this|your) (?:user|question|evidence|sources?|(?:\w{{1,20}} )?{_GUIDANCE}))",
            # speaking to the machine
            r"\byour (?:system|developer|initial|original|hidden) (?:prompt|message|instructions?)\b",
            rf"\b(?:note (?:to|for)|attention,?|dear|hey,?) (?:the |any |all )?{_MACHINE}",
            rf"\b(?:as an? {_MACHINE},? you\b|(?:if|when|since) you(?: are|'re) an? {_MACHINE})",
            rf"\b{_MACHINE} (?:that is )?reading this\b",
        )
    ),
    re.IGNORECASE,
)


def gives_orders(sentence: str) -> bool:
    """Whether a sentence of outside text speaks to the model that reads it rather than about its subject.

    A net for the usual forms, with holes: it lowers the odds and guarantees nothing, which is why the marks,
    the rules of the prompt and the absence of tools stand beside it."""
    return _ORDER.search(sentence.replace("’", "'")) is not None
