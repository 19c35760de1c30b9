"""Sentences that speak to the model that reads them instead of about their subject.

Pure, and beside everything: what goes before a model leaves them out, what comes from peers is refused with
them.
"""

from __future__ import annotations

import re

CHAT_TOKEN = re.compile(
    r"<\|[^|<>\n]{1,40}\|>|</?s>|<(?:start|end)_of_turn>|<(?:bos|eos|pad|unk)>"
    r"|\[/?INST\]|<</?SYS>>|\[/?AVAILABLE_TOOLS\]",
    re.IGNORECASE,
)
"""Marks of turns, by which chat models know who speaks."""

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
