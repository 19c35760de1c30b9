"""Settings of what a community has written: where it lies, who sees it, and the bounds of reading it."""

from __future__ import annotations

from dataclasses import dataclass, field

from node.core.setting_fields import between, one_of, web_address


@dataclass(frozen=True, slots=True)
class Documents:
    """What a community has written. ``folders``: taken in by themselves, looked at every ``every_s``;
    ``scope``: who sees what is taken in where nothing else is said; ``profile``: how texts are cut;
    ``skip``: patterns of names and paths that are left out; ``embedder``: ``multilingual`` is one for
    documents alone, ``same`` the one of ``embed.engine``, ``auto`` the former where its packages are
    installed and the engine is the local one; ``pages_max``, ``chars_max``, ``timeout_s`` and
    ``memory_bytes`` bound the reading of one file; ``bytes_max``: what all files together may have.
    ``describe``: a language model describes each document in some sentences, at most ``describe_per_day``,
    for the search profile ``file``. ``use_fallback``: search by keywords alone; ``RAG_USE_FALLBACK=1`` sets
    it."""

    folders: tuple[str, ...] = ()
    scope: str = one_of("shared", "private", "public")
    every_s: int = between(10, 300, 86_400)
    profile: str = one_of("section400", "section500", "recursive1000", "file")
    skip: tuple[str, ...] = ()
    embedder: str = one_of("auto", "multilingual", "same")
    file_bytes_max: int = between(1_024, 64 * 2**20, 2**31)
    bytes_max: int = between(0, 16 * 2**30, 2**50)
    files_max: int = between(1, 20_000, 1_000_000)
    depth_max: int = between(1, 32, 256)
    pages_max: int = between(1, 2_000, 100_000)
    chars_max: int = between(1_000, 8_000_000, 10**9)
    timeout_s: float = between(1, 60.0, 3_600)
    memory_bytes: int = between(256 * 2**20, 2**30, 2**40)
    describe: bool = False
    describe_per_day: int = between(1, 1_000, 1_000_000)
    use_fallback: bool = False


@dataclass(frozen=True, slots=True)
class Judge:
    """Who grades answers at night. ``url``, ``model``, ``api_key``: an OpenAI-compatible server, up to
    ``/v1``; ``model`` ``own`` without one: the node's own models; else nobody grades. ``share`` of a day's
    answers, 0 for none, from ``hour`` on in the node's time zone; ``timeout_s`` for one grade."""

    url: str = web_address("")
    model: str = ""
    api_key: str = field(default="", repr=False)
    share: float = between(0, 0.05, 1)
    hour: int = between(0, 2, 23)
    timeout_s: float = between(1, 300.0, 3_600)
