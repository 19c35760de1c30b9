"""What the decision log says was stored and withdrawn, from a place in it on."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from node.audit.decisions import outcomes
from node.audit.decisions.answer_entry import store_entry
from node.audit.decisions.entry import quarantine_entry, tombstone_entry
from node.audit.decisions.log import DecisionLog
from node.audit.decisions.outcomes import Outcomes
from node.core.ipld.cid import Cid
from tests.log_kit import opened

EXPIRES = datetime(2026, 2, 1, tzinfo=UTC)


def cid(number: int) -> str:
    return str(Cid.of(b"record %d" % number))


async def stored(log: DecisionLog, number: int, scope: str = "shared", **more: Any) -> None:
    entry, private = store_entry(
        request="r", outcome="stored", reason="ok", scope=scope, policy="p", cid=cid(number), **more
    )
    await log.append(entry, private_texts=private)


async def gone(log: DecisionLog, number: int, reason: str = "", scope: str = "shared") -> None:
    made = quarantine_entry if reason else tombstone_entry
    entry, private = made(target=cid(number), reason=reason or "invalidated", scope=scope, policy="p")
    await log.append(entry, private_texts=private)


@pytest.mark.parametrize("scope", ["public", "shared", "private:local"])
async def test_records_are_named_whatever_their_scope(tmp_path: Path, scope: str) -> None:
    log = await opened(tmp_path)
    await stored(log, 1, scope)
    place = log.place()
    await stored(log, 2, scope, expires=EXPIRES)
    await gone(log, 1, scope=scope)
    await gone(log, 3, "invalid", scope)
    await gone(log, 4, "wrong", scope)
    entry, private = store_entry(
        request="r", outcome="failed", reason="failed", scope=scope, policy="p", cid=cid(5)
    )
    await log.append(entry, private_texts=private)
    expected = Outcomes({cid(2): int(EXPIRES.timestamp())}, {cid(1): "tombstone", cid(3): "quarantine"})
    assert await log.outcomes(place) == expected
    assert (await log.outcomes(None)).stored.keys() == {cid(1), cid(2)}
    assert await log.outcomes(log.place()) == Outcomes()
    await log.close()
    again = await opened(tmp_path)
    assert await again.outcomes(place) == expected
    await again.close()


async def test_what_was_erased_has_no_name_any_more(tmp_path: Path) -> None:
    log = await opened(tmp_path)
    await stored(log, 1)
    await stored(log, 2)
    await log.forget_record(cid(1))
    assert (await log.outcomes(None)).stored.keys() == {cid(2)}
    await log.close()
    assert Cid.parse(cid(1)).digest not in (tmp_path / "keys" / "commitments-2-1").read_bytes()


async def test_it_goes_on_through_closed_epochs_to_the_journal(tmp_path: Path) -> None:
    log = await opened(tmp_path)
    await stored(log, 1)
    place = log.place()
    for number in (2, 3):
        await stored(log, number)
        await log.end_epoch("age")
    await log.close()
    log = await opened(tmp_path, is_held=True)  # nothing comes under a checkpoint
    await stored(log, 4)
    assert (await log.outcomes(place)).stored.keys() == {cid(2), cid(3), cid(4)}
    assert (await log.outcomes(None)).stored.keys() == {cid(1), cid(2), cid(3), cid(4)}
    assert await log.outcomes(log.place()) == Outcomes()
    await log.close()


async def test_no_more_than_the_newest_entries_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "LEAVES_MAX", 3)
    log = await opened(tmp_path)
    for number in range(4):
        await stored(log, number)
    await log.tile_log.publish()
    assert (await log.outcomes(None)).stored.keys() == {cid(1), cid(2), cid(3)}
    await log.end_epoch("age")
    await stored(log, 4)
    assert (await log.outcomes(None)).stored.keys() <= {cid(3), cid(4)}
    await log.close()


async def test_a_damaged_name_is_none(tmp_path: Path) -> None:
    log = await opened(tmp_path)
    await stored(log, 1)
    await log.close()
    path = tmp_path / "keys" / "commitments-2-1"
    data = bytearray(path.read_bytes())
    at = data.find(Cid.parse(cid(1)).digest)
    data[at] ^= 1
    path.write_bytes(data)
    log = await opened(tmp_path)
    assert await log.outcomes(None) == Outcomes()
    await log.close()
