"""Drafts: found by their whole key, for an hour, by their own tenant only."""

from __future__ import annotations

from node.pipeline.drafts import LIFE_S, Drafts


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_draft_is_found_under_its_key_until_its_hour_is_over() -> None:
    time = Time()
    drafts: Drafts[str] = Drafts(time)
    drafts.keep("key", "value", tenant="a", question="q", answer="x", life_s=None)
    drafts.keep("brief", "value", tenant="a", question="q", answer="x", life_s=60)
    time.now = 61
    assert drafts.find("brief") is None
    assert drafts.find("other") is None
    assert drafts.find("key", max_age_s=60) is None
    found = drafts.find("key")
    assert found is not None
    assert found.value == "value"
    time.now = LIFE_S
    assert drafts.find("key") is None
    assert len(drafts) == 0


def test_feedback_finds_the_drafts_of_a_request_for_their_tenant_only() -> None:
    drafts: Drafts[str] = Drafts(Time())
    for key in ("one", "two"):
        drafts.keep(key, key, tenant="a", question=key, answer="x", life_s=None)
        drafts.answered("request", key)
        drafts.answered("request", key)
    assert [one.value for one in drafts.of_request("request", "a")] == ["one", "two"]
    assert drafts.of_request("request", "b") == []
    assert drafts.of_request("unknown", "a") == []
    drafts.drop("one")
    assert [one.value for one in drafts.of_request("request", "a")] == ["two"]


def test_the_oldest_make_room_and_what_was_checked_stays_checked() -> None:
    drafts: Drafts[str] = Drafts(Time(), drafts_max=2)
    for key in ("one", "two", "three"):
        drafts.keep(key, key, tenant="a", question=key, answer="x", life_s=None)
    assert drafts.find("one") is None
    drafts.checked("two")
    drafts.checked("gone")
    found = drafts.find("two")
    assert found is not None
    assert found.is_checked
