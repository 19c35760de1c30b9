"""Where closed epochs go: a folder, an S3-compatible store (a stand-in) and a real one, by the same tests."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from node.audit.decisions.moving import move
from node.audit.log.archive import Archive, FolderArchive, archives_of
from node.core import settings
from node.core.errors import Misconfigured, NotFound, Rejected, Unavailable
from tests import log_kit
from tests.engines import VersityGw
from tests.epoch_kit import World, fill
from tests.simulators.s3 import BUCKET, KEY_ID, SECRET, s3_stand_in

needs_obstore = pytest.mark.skipif(
    importlib.util.find_spec("obstore") is None, reason="obstore is not installed (the extra s3)"
)
Make = Callable[[str], Awaitable[Archive]]


def s3_settings(url: str, prefix: str = "", secret: str = SECRET) -> settings.Archive:
    return settings.Archive(
        to=f"s3://{BUCKET}/{prefix}", endpoint=url, key_id=KEY_ID, secret=secret, timeout_s=5.0
    )


def s3(url: str, prefix: str) -> Archive:
    own = s3_settings(url, prefix)
    return archives_of(own)(own.to)


@pytest.fixture(
    params=[
        "folder",
        pytest.param("stand_in", marks=needs_obstore),
        pytest.param("real", marks=[needs_obstore, pytest.mark.engine("versitygw")]),
    ]
)
async def make(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Make]:
    """What makes an archive of that name, empty at first."""
    real = request.getfixturevalue("real_s3") if request.param == "real" else None
    async with AsyncExitStack() as stack:
        url = real.url if real is not None else ""
        if request.param == "stand_in":
            url = (await stack.enter_async_context(s3_stand_in())).url

        async def made(name: str) -> Archive:
            if request.param == "folder":
                (tmp_path / name).mkdir(exist_ok=True)
                return FolderArchive(tmp_path / name)
            return s3(url, f"{tmp_path.name}/{name}")

        yield made


async def test_what_was_put_is_listed_and_got_again(make: Make) -> None:
    archive, other = await make("one"), await make("other")
    files = {
        f"a b.c/decisions/1/tile/0/x{n // 1000:03}/{n % 1000:03}": bytes([n % 256]) * n for n in range(230)
    }
    await archive.put(files)
    await archive.put({"a b.c/decisions/2/vkey": b"key"})
    assert await archive.sizes("a b.c/decisions/1") == {path: len(data) for path, data in files.items()}
    assert await archive.sizes("a b.c/decisions/3") == {}
    assert await other.sizes("a b.c/decisions/1") == {}
    for path, data in list(files.items())[::50]:
        assert await archive.get(path, len(data)) == data


async def test_what_is_not_there_or_too_long_says_so(make: Make) -> None:
    archive = await make("one")
    with pytest.raises(NotFound):
        await archive.get("1/tile/0/000", 10)
    await archive.put({"1/tile/0/000": bytes(11)})
    with pytest.raises(Rejected):
        await archive.get("1/tile/0/000", 10)


async def test_epochs_move_there_and_verify_from_the_first_to_the_last(make: Make, tmp_path: Path) -> None:
    archive = await make("cold")
    (tmp_path / "world").mkdir()
    world = World(tmp_path / "world", lambda address: archive)
    log = await world.open()
    for count in (300, 20):
        await fill(log, count)
        await log.end_epoch("age")
    await fill(log, 5)
    await log.tile_log.publish()
    await log.folder.close()  # swept
    before = await world.receipt(290, 1)
    for number in (1, 2):
        await move(world.log_folder, number, archive, world.clock)
        assert not (world.aside(number) / "tile").exists()
    assert [(one.ok, one.is_absent, one.entries) for one in await world.verified()] == [
        (True, False, 22),
        (True, False, 301),
    ]
    assert await world.receipt(290, 1) == before
    assert f"{log_kit.ORIGIN}/1/tile/entries/000.gz" in await archive.sizes(f"{log_kit.ORIGIN}/1")
    await log.close()


@needs_obstore
async def test_a_store_that_is_away_is_unavailable_and_its_secret_is_not_told() -> None:
    async with s3_stand_in() as store:
        own = s3_settings(store.url)
        archive = archives_of(own)(own.to)
        await archive.put({"one": b"1"})
        store.is_away = True
        with pytest.raises(Unavailable) as said:
            await archive.get("one", 10)
        store.is_away = False
        assert await archive.get("one", 10) == b"1"
    assert SECRET not in str(said.value)
    assert SECRET not in repr(own)


@pytest.mark.engine("versitygw")
@needs_obstore
async def test_a_real_store_refuses_the_wrong_secret(real_s3: VersityGw) -> None:
    own = s3_settings(real_s3.url, secret="another")
    with pytest.raises(Unavailable):
        await archives_of(own)(own.to).put({"one": b"1"})


@needs_obstore
async def test_what_the_settings_lack_is_named() -> None:
    with pytest.raises(Misconfigured, match=r"archive\.secret"):
        archives_of(settings.Archive(to="s3://cold"))("s3://cold")
    with pytest.raises(Misconfigured, match=r"archive\.to"):
        archives_of(settings.Archive(key_id="a", secret="b"))("s3://")


async def test_a_folder_that_went_elsewhere_is_found_where_the_setting_says(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    await FolderArchive(tmp_path / "new").put({"one": b"1"})
    archives = archives_of(settings.Archive(to=str(tmp_path / "new")))
    assert await archives(str(tmp_path / "old")).get("one", 1) == b"1"
    with pytest.raises(Unavailable):
        await archives_of(settings.Archive())(str(tmp_path / "old")).get("one", 1)
