"""Transcripts: readable, complete where something is known, and not to be forged by what a model says."""

from __future__ import annotations

from pathlib import Path

from tests.transcripts import SECTION_CHARS_MAX, as_markdown, transcript, written

REPLY = {
    "answer": "Block 5 (1).\n\n## Not a heading",
    "source": {"kind": "llm", "id": "ollama/gemma270"},
    "citations": [{"source": "wikipedia", "locator": "Block", "snippet": "Block 5 it was.", "url": None}],
    "confidence": 0.7,
    "usage": {"prompt_tokens": 12, "completion_tokens": 5},
    "trace": [{"stage": "compose", "outcome": "done", "reason": "", "ms": 1_250.0}],
}


def test_a_reply_becomes_question_evidence_answer_engine_model_and_time() -> None:
    text = as_markdown("ollama", "Which\nblock?", REPLY)
    assert text.startswith("\n## Which block?\n")
    assert "engine `ollama`, model `ollama/gemma270`, 1.25 s, 12 + 5 tokens, confidence 0.70" in text
    assert "> [wikipedia Block] Block 5 it was." in text
    assert "> Block 5 (1).\n>\n> ## Not a heading" in text


def test_little_is_enough() -> None:
    text = as_markdown("llama_cpp", "Why?", {"answer": "", "model": "m", "seconds": 2, "evidence": ["one"]})
    assert "engine `llama_cpp`, model `m`, 2.00 s" in text
    assert "> one" in text
    assert "> (empty)" in text


def test_a_long_answer_is_cut_visibly() -> None:
    text = as_markdown("x", "Why?", {"answer": "a" * (SECTION_CHARS_MAX + 1)})
    assert f"(cut, {SECTION_CHARS_MAX + 1} characters)" in text


def test_the_first_of_a_process_starts_the_file_anew_and_later_ones_append(tmp_path: Path) -> None:
    file = tmp_path / "build" / "transcripts.md"
    file.parent.mkdir()
    file.write_text("old")
    assert not written(file)
    transcript("a", "One?", {"answer": "1"}, file=file)
    transcript("b", "Two?", {"answer": "2"}, file=file)
    assert written(file)
    text = file.read_text()
    assert "old" not in text
    assert text.count("# Transcripts") == 1
    assert text.index("One?") < text.index("Two?")
