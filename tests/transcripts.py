"""What real models answered, kept as readable Markdown for people: ``build/transcripts.md``.

A test calls ``transcript`` with what it asked and the reply that it got; each test process starts the file
anew.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parents[1] / "build" / "transcripts.md"
SECTION_CHARS_MAX = 4_000
"""An answer or a quoted source longer than this is cut, visibly."""

_HEAD = "# Transcripts: what real models answered in the tests\n"
_lock = threading.Lock()
_begun: set[Path] = set()


def transcript(engine: str, question: str, reply: dict[str, Any], *, file: Path = FILE) -> None:
    """Append one question with its evidence, answer, engine, model and time.

    ``reply`` is a reply of ``POST /chat`` (a verbose one shows the time), or any mapping with ``answer`` and,
    where known, ``model``, ``seconds`` and ``evidence`` (texts)."""
    text = as_markdown(engine, question, reply)
    with _lock:
        file.parent.mkdir(parents=True, exist_ok=True)
        begun = file in _begun
        _begun.add(file)
        with file.open("a" if begun else "w", encoding="utf-8") as out:
            out.write(text if begun else _HEAD + text)


def written(file: Path = FILE) -> bool:
    """Whether this process wrote any."""
    return file in _begun


def as_markdown(engine: str, question: str, reply: dict[str, Any]) -> str:
    """One entry."""
    source = reply.get("source") or {}
    model = reply.get("model") or source.get("id") or "unknown"
    seconds = _seconds(reply)
    usage = reply.get("usage") or {}
    facts = [f"engine `{engine}`", f"model `{model}`"]
    if seconds is not None:
        facts.append(f"{seconds:.2f} s")
    if usage.get("completion_tokens"):
        facts.append(f"{usage['prompt_tokens']} + {usage['completion_tokens']} tokens")
    if "confidence" in reply:
        facts.append(f"confidence {reply['confidence']:.2f}")
    evidence = "\n>\n".join(_quoted(one) for one in _evidence(reply)) or "> (none)"
    answer = _quoted(str(reply.get("answer", "")) or "(empty)")
    return (
        f"\n## {' '.join(question.split())}\n\n{', '.join(facts)}\n\n"
        f"Evidence:\n\n{evidence}\n\nAnswer:\n\n{answer}\n"
    )


def _evidence(reply: dict[str, Any]) -> list[str]:
    cited = [
        f"[{one.get('source')} {one.get('locator') or ''}] {one.get('snippet') or ''}"
        for one in reply.get("citations") or ()
    ]
    return [str(one) for one in reply.get("evidence") or ()] + cited


def _seconds(reply: dict[str, Any]) -> float | None:
    if "seconds" in reply:
        return float(reply["seconds"])
    if reply.get("trace"):
        return sum(float(step["ms"]) for step in reply["trace"]) / 1_000
    return None


def _quoted(text: str) -> str:
    """As a Markdown quotation, in which no line can pass for one of ours."""
    if len(text) > SECTION_CHARS_MAX:
        text = f"{text[:SECTION_CHARS_MAX]} … (cut, {len(text)} characters)"
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())
