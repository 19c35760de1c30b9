"""Sessions are bounded and belong to their tenant."""

from __future__ import annotations

from node.pipeline.understanding.sessions import SESSIONS_MAX, TEXT_CHARS_MAX, TURNS_MAX, Sessions


def test_turns_come_back_in_order_and_bounded() -> None:
    sessions = Sessions()
    for number in range(TURNS_MAX + 3):
        sessions.enter("a", "s", f"q{number}", "x" * (TEXT_CHARS_MAX + 1))
    turns = sessions.history("a", "s")
    assert [question for question, _ in turns] == [f"q{number}" for number in range(3, TURNS_MAX + 3)]
    assert all(len(answer) == TEXT_CHARS_MAX for _, answer in turns)


def test_another_tenant_sees_nothing() -> None:
    sessions = Sessions()
    sessions.enter("a", "s", "q", "a")
    assert sessions.history("b", "s") == ()
    assert sessions.history("a", None) == ()


def test_the_longest_unused_session_makes_room() -> None:
    sessions = Sessions()
    for number in range(SESSIONS_MAX + 1):
        sessions.enter("a", f"s{number}", "q", "a")
    assert sessions.history("a", "s0") == ()
    assert sessions.history("a", "s1")
