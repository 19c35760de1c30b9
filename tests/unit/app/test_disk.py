"""Budgets of the disk: warned of, then refused; nothing that is stored is touched."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from node.app.disk import COLD, INDEX, LOG, PROBE, RECORDS, STATE, DiskWatch, Use, sizes
from node.app.storage import check_archive
from node.core.errors import Misconfigured
from node.core.files import Files
from node.core.metrics import Metrics
from node.core.settings import Archive, Disk, Settings, load

MIB = 2**20


def put(folder: Path, name: str, size: int) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))


def test_every_file_of_the_data_directory_is_of_one_kind(tmp_path: Path) -> None:
    for name, size in (
        ("blocks.sqlite", 1),
        ("blocks.sqlite-wal", 2),
        ("foreign.sqlite", 4),
        ("index/answers/a.npz", 8),
        ("index/x.nswvec", 16),
        ("state.sqlite", 32),
        ("publications/tile/0/000", 64),
        ("keys/commitments-2-1", 128),
        ("models/big.gguf", 256),
        ("log_blocks.sqlite-wal", 512),
    ):
        put(tmp_path, name, size)
    assert sizes(tmp_path) == {RECORDS: 7, INDEX: 24, STATE: 96}


@pytest.mark.parametrize(
    ("kind", "used", "status"),
    [
        (RECORDS, 79, "pass"),
        (RECORDS, 80, "warn"),
        (RECORDS, 100, "fail"),
        (LOG, 100, "fail"),
        (COLD, 100, "warn"),
    ],
)
def test_a_budget_is_warned_of_before_it_is_spent(kind: str, used: int, status: str) -> None:
    check = Use(kind, used, 100).check(0.8)
    assert (check.name, check.status, check.observed) == (f"disk:{kind}", status, used)
    assert (f"disk.{kind}_bytes" in check.output) == (status != "pass")
    assert Use(kind, used, 0).check(0.8).status == "pass", "no bound"


@pytest.mark.parametrize("name", ["blocks.sqlite", "index/one", "peers.sqlite"])
async def test_what_is_stored_is_refused_at_a_bound_and_taken_again_below_it(
    tmp_path: Path, name: str
) -> None:
    said: list[str] = []
    bounds = Disk(records_bytes=MIB, index_bytes=MIB, state_bytes=MIB)
    metrics = Metrics()
    watch = DiskWatch(tmp_path, bounds, None, metrics, said.append)
    put(tmp_path, name, MIB - 1)
    await watch.tick()
    put(tmp_path, name, MIB)
    await watch.tick()
    (tmp_path / name).unlink()
    await watch.tick()
    assert [bool(one) for one in said] == [False, True, False]
    assert "nothing new is stored" in said[1]
    assert b'neuroswarm_disk_limit_bytes{kind="records"} 1.048576e+06' in metrics.text()


async def test_a_disk_that_takes_no_writes_is_told_though_nobody_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = DiskWatch(tmp_path, Disk(), None, Metrics(), lambda _: None)
    await watch.tick()
    assert watch.writes().status == "pass"
    assert not (tmp_path / PROBE).exists()
    with monkeypatch.context() as patched:

        def refuse(*_: object) -> None:
            raise OSError(errno.EDQUOT, "Disk quota exceeded")

        patched.setattr(Files, "write", refuse)
        await watch.tick()
    check = watch.writes()
    assert (check.name, check.status) == ("disk:writes", "fail")
    assert "quota" in check.output
    await watch.tick()
    assert watch.writes().status == "pass", "by itself"


def test_a_bound_is_nothing_or_large_enough_to_live_in() -> None:
    assert load({"NEUROSWARM_DISK__LOG_BYTES": "0"}).disk.log_bytes == 0
    for key in ("DISK__LOG_BYTES", "LOG__EPOCH_BYTES", "DISK__COLD_BYTES"):
        with pytest.raises(Misconfigured, match="be 0 or lie between"):
            load({f"NEUROSWARM_{key}": "5"})


def test_an_archive_lies_outside_what_it_is_for(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path / "data"), governance_dir=str(tmp_path / "log"))
    for inside in ("data", "data/cold", "log/epochs"):
        with pytest.raises(Misconfigured, match=r"archive\.to"):
            check_archive(replace(settings, archive=Archive(to=str(tmp_path / inside))))
    check_archive(replace(settings, archive=Archive(to=str(tmp_path / "cold"))))
    with pytest.raises(Misconfigured, match=r"archive\.secret"):
        check_archive(replace(settings, archive=Archive(to="s3://bucket")))
