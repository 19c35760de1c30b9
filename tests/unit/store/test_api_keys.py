"""API keys at rest: hashed, ended, counted, bounded."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from node.core.errors import BadInput, BudgetSpent, CorruptState, NotFound
from node.store import api_keys
from node.store.api_keys import KEYS_FILE, MODEL_CALLS, REQUESTS, USED_FILE, ApiKeys, Wanted
from tests.each import each
from tests.manual_clock import ManualClock

DAY_S = 86_400


async def test_a_key_is_found_by_its_text_and_lies_there_hashed(tmp_path: Path) -> None:
    keys = ApiKeys.open(tmp_path, ManualClock())
    assert keys.is_empty
    text, key = await keys.create(Wanted("acme", name="the bot"))
    other, _ = await keys.create(Wanted("acme"))
    assert keys.find(text) == key
    assert keys.epoch == 2
    kept = (tmp_path / KEYS_FILE).read_text()
    assert text.split("_", 2)[2] not in kept
    assert (tmp_path / KEYS_FILE).stat().st_mode & 0o777 == 0o600
    wrong = text[:-1] + ("A" if text[-1] != "A" else "B")
    mixed = f"nsk_{key.id}_{other.split('_', 2)[2]}"
    for guess in (wrong, mixed, key.digest, "", "nsk_", text + " ", text.upper(), "nsk_é_" + "a" * 43):
        assert keys.find(guess) is None, guess
    again = ApiKeys.open(tmp_path, ManualClock())
    assert again.find(text) == key
    assert not again.is_empty


async def test_what_is_revoked_or_expired_holds_no_more(tmp_path: Path) -> None:
    clock = ManualClock()
    keys = ApiKeys.open(tmp_path, clock)
    _, first = await keys.create(Wanted("acme"))
    short, _ = await keys.create(Wanted("acme", lifetime_s=60))
    assert keys.has_usable()
    revoked = await keys.revoke(first.id)
    assert revoked.why_not(clock.now()) == "this key was revoked"
    assert (await keys.revoke(first.id)).revoked == revoked.revoked
    clock.advance(60)
    found = keys.find(short)
    assert found is not None
    assert found.why_not(clock.now()) == "this key has expired"
    assert not keys.has_usable()
    assert not ApiKeys.open(tmp_path, clock).is_empty
    with pytest.raises(NotFound):
        await keys.revoke("nobody")


async def test_budgets_are_counted_by_the_day_and_survive_a_restart(tmp_path: Path) -> None:
    clock = ManualClock()
    keys = ApiKeys.open(tmp_path, clock)
    _, key = await keys.create(Wanted("acme", requests_per_day=2, model_calls_per_day=1))
    keys.take(key, REQUESTS)
    keys.take(key, MODEL_CALLS)
    keys.give_back(key, MODEL_CALLS)
    keys.take(key, MODEL_CALLS)
    with pytest.raises(BudgetSpent, match="1 model calls of today") as spent:
        keys.take(key, MODEL_CALLS)
    assert spent.value.retry_after_s == DAY_S
    await keys.flush()
    keys = ApiKeys.open(tmp_path, clock)
    assert (keys.left(key, REQUESTS), keys.left(key, MODEL_CALLS)) == (1, 0)
    keys.take(key, REQUESTS)
    with pytest.raises(BudgetSpent):
        keys.take(key, REQUESTS)
    clock.set_wall(clock.now() - timedelta(days=1))
    with pytest.raises(BudgetSpent):
        keys.take(key, REQUESTS)
    clock.advance(2 * DAY_S)
    keys.take(key, REQUESTS)
    assert [used.requests for _, used in keys.listed()] == [1]
    await keys.flush()
    assert list(json.loads((tmp_path / USED_FILE).read_text())) == [key.id]


@each(
    ("wanted", "field"),
    [
        (Wanted(""), "tenant"),
        (Wanted("a b"), "tenant"),
        (Wanted("../x"), "tenant"),
        (Wanted("a/b"), "tenant"),
        (Wanted("x" * 65), "tenant"),
        (Wanted("local"), "tenant"),
        (Wanted("Peers"), "tenant"),
        (Wanted("acme", scopes=()), "scopes"),
        (Wanted("acme", scopes=("root",)), "scopes"),
        (Wanted("acme", name="a\nb"), "name"),
        (Wanted("acme", lifetime_s=0), "expires_in_s"),
        (Wanted("acme", requests_per_day=-1), "requests_per_day"),
    ],
)
async def test_bad_wishes_name_their_field(wanted: Wanted, field: str) -> None:
    keys = ApiKeys(None, ManualClock())
    with pytest.raises(BadInput) as refused:
        await keys.create(wanted)
    assert refused.value.field == field
    assert keys.is_empty


async def test_keys_are_bounded_and_ended_ones_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_keys, "KEYS_MAX", 2)
    keys = ApiKeys(None, ManualClock())
    _, first = await keys.create(Wanted("a"))
    await keys.create(Wanted("b"))
    with pytest.raises(BadInput, match="too many keys"):
        await keys.create(Wanted("c"))
    await keys.revoke(first.id)
    await keys.create(Wanted("c"))
    assert [key.tenant for key, _ in keys.listed()] == ["b", "c"]


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"v": 2, "keys": []}', b'{"v": 1, "keys": [{"id": 5}]}'])
def test_a_damaged_file_is_told_and_lets_nobody_in(tmp_path: Path, data: bytes) -> None:
    (tmp_path / KEYS_FILE).write_bytes(data)
    with pytest.raises(CorruptState, match="api_keys"):
        ApiKeys.open(tmp_path, ManualClock())
