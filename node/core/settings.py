"""Every setting of the node: one frozen tree, read once, with units in the names.

Sources, later ones win: the defaults below, one TOML file, ``NEUROSWARM_<SECTION>__<KEY>`` in the environment
(``NEUROSWARM_ADAPTERS__COINGECKO__BASE_URL``), command-line flags. Unknown or malformed values stop the start
with one sentence that names the key. No other file reads the environment.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, get_type_hints
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from node.core.agent_settings import Agent as Agent
from node.core.agent_settings import check_agent
from node.core.document_settings import Documents as Documents
from node.core.document_settings import Judge as Judge
from node.core.errors import Misconfigured, Rejected
from node.core.files import translated
from node.core.peer_address import address_of
from node.core.record import public_key_of
from node.core.server_settings import Server as Server
from node.core.server_settings import check_server
from node.core.setting_fields import between, bound, one_of, web_address

ENV_PREFIX = "NEUROSWARM_"
API_KEY = "NEUROSWARM_API_KEY"
"""The key by which programs on this machine ask a node: theirs, and no setting of the node."""


@dataclass(frozen=True, slots=True)
class Embed:
    """``engine``: local, ollama, llama_cpp, openai, or none (exact, slot and keyword look-up go on without
    embeddings). ``model``: the engine's name for it; empty means the engine's default. ``gguf_path``: the
    embedding model of llama_cpp. ``timeout_s`` bounds one attempt of an engine outside this process, which is
    asked ``per_minute`` times at most (0: any number). ``openai_…``: of a server for embeddings alone, so
    that what chat uses up is not theirs; empty: those of ``models``."""

    engine: str = one_of("local", "ollama", "llama_cpp", "openai", "none")
    model: str = ""
    openai_base_url: str = web_address("")
    openai_api_key: str = field(default="", repr=False)
    gguf_path: str = ""
    timeout_s: float = between(0.1, 30.0, 600)
    attempts: int = between(1, 3, 10)
    threads: int = between(1, 1, 64)
    batch_max: int = between(1, 4, 64)
    per_minute: int = between(0, 0, 100_000)
    queue_max: int = between(1, 1_024, 1_000_000)


@dataclass(frozen=True, slots=True)
class Models:
    """Language models. An empty ``ollama_url`` switches Ollama off. ``window_tokens``: of llama.cpp, prompt
    and answer together. ``context_chars_max`` and ``context_tokens_max`` bound the evidence of a prompt.
    ``…_parallel``: generations at once, where the engine can do more than one. ``gguf_engine``: ``auto``
    takes xllamacpp where it works, else llama-cpp-python."""

    ollama_url: str = web_address("http://127.0.0.1:11434")
    ollama_model: str = ""
    openai_base_url: str = web_address("")
    openai_api_key: str = field(default="", repr=False)
    openai_model: str = ""
    gguf_path: str = ""
    timeout_s: float = between(1, 45.0, 600)
    tokens_max: int = between(1, 200, 8_192)
    window_tokens: int = between(512, 2_048, 131_072)
    context_chars_max: int = between(200, 1_500, 1_000_000)
    context_tokens_max: int = between(50, 900, 100_000)
    queue_max: int = between(1, 64, 10_000)
    gguf_engine: str = one_of("auto", "xllamacpp", "llama_cpp")
    ollama_parallel: int = between(1, 1, 64)
    openai_parallel: int = between(1, 1, 256)
    gguf_parallel: int = between(1, 2, 16)


@dataclass(frozen=True, slots=True)
class Ipfs:
    """An optional daemon; the embedded block store is always there. Only public blocks are given to it unless
    ``daemon_is_private``; then shared ones too. ``timeout_s`` bounds one call. ``announce``: multiaddrs of
    this node that clients of its router are told; the address that it listens on where there are none.
    ``gateway_concurrent_max``: requests for blocks at once. ``foreign_max_bytes``: what imported CARs may
    take."""

    kubo_url: str = web_address("")
    timeout_s: float = between(0.1, 5.0, 60)
    daemon_is_private: bool = False
    announce: tuple[str, ...] = ()
    gateway_concurrent_max: int = between(1, 32, 10_000)
    foreign_max_bytes: int = between(0, 8 * 2**30, 2**50)


@dataclass(frozen=True, slots=True)
class AdapterSettings:
    """One adapter's outside address, key and limits; empty means the adapter's own default."""

    base_url: str = web_address("")
    api_key: str = field(default="", repr=False)
    enabled: bool = True
    timeout_s: float = between(0.05, 4.0, 60)
    per_minute: int = between(0, 0, 100_000)


@dataclass(frozen=True, slots=True)
class News:
    """Feeds by address (RSS, Atom, RDF), comma separated in the environment; empty means a short list of
    public ones, a single ``none`` no feeds at all. ``enabled`` switches the adapter."""

    feeds: tuple[str, ...] = ()
    enabled: bool = True
    timeout_s: float = between(0.05, 6.0, 60)


@dataclass(frozen=True, slots=True)
class Adapters:
    """Settings by source. ``contact`` is an e-mail or web address of the operator; it goes into the
    User-Agent, as some sources ask. ``plugins`` are further adapters as ``module:factory``; their code runs
    in the node, so name only what you trust."""

    contact: str = ""
    plugins: tuple[str, ...] = ()
    coingecko: AdapterSettings = AdapterSettings()
    coinbase: AdapterSettings = AdapterSettings()
    open_meteo: AdapterSettings = AdapterSettings()
    open_meteo_archive: AdapterSettings = AdapterSettings()
    open_meteo_geocoding: AdapterSettings = AdapterSettings()
    espn: AdapterSettings = AdapterSettings()
    balldontlie: AdapterSettings = AdapterSettings()
    hn: AdapterSettings = AdapterSettings()
    frankfurter: AdapterSettings = AdapterSettings()
    snapshot: AdapterSettings = AdapterSettings()
    wikipedia: AdapterSettings = AdapterSettings()
    news: News = News()


@dataclass(frozen=True, slots=True)
class Cache:
    """The cache decision and the size of the cache."""

    max_wrong_hit_rate: float = between(0, 0.01, 1)
    max_wrong_per_hit: float = between(0, 0.05, 1)
    threshold: float = between(0, 0.80, 1)
    threshold_deterministic: float = between(0, 0.90, 1)
    threshold_generative: float = between(0, 0.70, 1)
    confidence_min: float = between(0, 0.80, 1)
    neighbours: int = between(1, 8, 256)
    hnsw_above: int = between(1_000, 20_000, 10**8)
    shadow: bool = False
    audit_share: float = between(0, 0.02, 1)
    audits_per_hour: int = between(0, 30, 100_000)
    max_entries: int = between(1, 1_000_000, 10**9)
    max_bytes: int = between(2**20, 16 * 2**30, 2**50)
    write_queue_max: int = between(1, 256, 1_000_000)
    expired_grace_s: int = between(0, 3_600, 10**8)
    negative_s: float = between(0, 10.0, 300)
    sweep_every_s: int = between(1, 60, 86_400)
    withdrawn_kept_s: int = between(0, 7 * 86_400, 10**8)
    withdraw_after_tenants: int = between(1, 3, 1_000_000)


@dataclass(frozen=True, slots=True)
class Sharing:
    """``publish``: none, sourced, grounded, all."""

    publish: str = one_of("none", "sourced", "grounded", "all")


@dataclass(frozen=True, slots=True)
class Peers:
    """Peers by URL or IPNS name. ``trusted``: roots (did:key) that are trusted without ``peers trust``.
    ``quorum``: how many trust groups must agree. ``of_peers``: poll also whom peers name.
    ``verify_per_hour``: records that are recomputed here by asking a source outside. ``records_max`` and
    ``bytes_max`` are for each root; ``near_max``: its live records within one neighbourhood of meaning."""

    urls: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()
    quorum: int = between(1, 2, 100)
    every_s: int = between(1, 60, 86_400)
    timeout_s: float = between(0.1, 10.0, 120)
    of_peers: bool = False
    verify_per_hour: int = between(0, 60, 100_000)
    records_max: int = between(0, 100_000, 10**8)
    bytes_max: int = between(0, 512 * 2**20, 2**50)
    validations_per_hour: int = between(0, 1_000, 10**6)
    near_max: int = between(1, 8, 256)


@dataclass(frozen=True, slots=True)
class Log:
    """The decision log. ``durability``: before_reply, behind_50ms, memory (lost at stop). ``witness_policy``:
    path of a tlog-policy file: who must cosign our checkpoints, and whose we cosign. ``anchor_calendars``:
    OpenTimestamps calendars by URL; none by default. ``block_headers_url``: who knows the block headers.
    ``shard_entries``, ``epoch_bytes``, ``epoch_days``: where an epoch ends; of the last two 0 means never.
    ``copies``: folders and addresses that hold the log too, for mending it."""

    durability: str = one_of("before_reply", "behind_50ms", "memory")
    on_failure: str = one_of("answer", "refuse")
    publish_every_s: float = between(0.05, 1.0, 3_600)
    shard_entries: int = between(256, 10_000_000, 10**9)
    epoch_bytes: int = bound(2**20, 2**30, 2**50)
    epoch_days: int = between(0, 90, 36_500)
    alarm_bytes: int = between(2**20, 20 * 2**30, 2**50)
    witness_policy: str = ""
    witness_timeout_s: float = between(0.1, 10.0, 120)
    witness_ml_dsa: bool = False
    anchor_calendars: tuple[str, ...] = web_address(())
    anchor_every_s: int = between(60, 3_600, 10**8)
    block_headers_url: str = web_address("")
    copies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Archive:
    """Where closed epochs of the decision log are moved. ``to``: a folder, or ``s3://bucket/prefix`` (the
    extra ``s3``); empty: they stay. ``endpoint``: of an S3-compatible store, empty: Amazon's.
    ``epochs_here``: so many of the newest closed ones stay. ``timeout_s``: one request to the store.
    ``check_days``: in so many days each file there is read and checked once; 0: when somebody asks for it."""

    to: str = ""
    endpoint: str = web_address("")
    region: str = "us-east-1"
    key_id: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    epochs_here: int = between(0, 1, 1_000)
    timeout_s: float = between(1, 30.0, 600)
    check_days: int = between(0, 30, 3_650)


@dataclass(frozen=True, slots=True)
class Disk:
    """What may lie on the disk, by kind, in bytes; 0: no bound. From ``warn_share`` of a bound on ``/health``
    warns; at the bound of ``log_bytes`` closed epochs are moved early, then entries are refused; at that of
    records, index or state nothing new is stored; at that of ``cold_bytes`` (what lies in the archive) epochs
    stay here. Nothing is deleted."""

    warn_share: float = between(0.1, 0.8, 1)
    log_bytes: int = bound(2**20, 64 * 2**30, 2**50)
    records_bytes: int = bound(2**20, 64 * 2**30, 2**50)
    index_bytes: int = bound(2**20, 16 * 2**30, 2**50)
    state_bytes: int = bound(2**20, 16 * 2**30, 2**50)
    cold_bytes: int = bound(2**20, 2**40, 2**60)


@dataclass(frozen=True, slots=True)
class Erasure:
    """``within_s``: the operator's promise, how long after an erasure here caches on the way to the gateway's
    readers, and backups, may still hold what was erased."""

    within_s: int = between(0, 86_400, 29_030_400)


@dataclass(frozen=True, slots=True)
class Backup:
    """``folder``: where backups go by themselves; empty: none are made. ``every_s``: between two of them.
    ``keep``: the newest so many stay."""

    folder: str = ""
    every_s: int = between(300, 86_400, 10**8)
    keep: int = between(1, 7, 1_000)


@dataclass(frozen=True, slots=True)
class Clock:
    """When the wall clock is not believed. ``jump_s``: a jump longer than this; 0 believes it always.
    ``sources``: https addresses whose dates are asked for; none by default."""

    jump_s: float = between(0, 300.0, 86_400)
    sources: tuple[str, ...] = web_address(())


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole tree."""

    data_dir: str = "data"
    governance_dir: str = "governance_logs"
    index_file: str = "knowledge-index.json"
    time_zone: str = "UTC"
    export_mode: str = one_of("0600", "0640", "0644")
    server: Server = Server()
    embed: Embed = Embed()
    models: Models = Models()
    ipfs: Ipfs = Ipfs()
    adapters: Adapters = Adapters()
    cache: Cache = Cache()
    documents: Documents = Documents()
    agent: Agent = Agent()
    judge: Judge = Judge()
    sharing: Sharing = Sharing()
    peers: Peers = Peers()
    log: Log = Log()
    archive: Archive = Archive()
    disk: Disk = Disk()
    erasure: Erasure = Erasure()
    backup: Backup = Backup()
    clock: Clock = Clock()


_Node = TypeVar("_Node")


def _parse(key: str, value: Any, wanted: Any) -> Any:
    """One value from TOML or text as the type that the setting has."""
    try:
        if wanted is bool:
            if isinstance(value, bool):
                return value
            return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[
                str(value).strip().lower()
            ]
        if wanted is int:
            if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
                raise ValueError
            return int(value)
        if wanted is float:
            if isinstance(value, bool):
                raise ValueError
            number = float(value)
            if number != number or number in (float("inf"), float("-inf")):
                raise ValueError
            return number
        if wanted is str:
            if not isinstance(value, str):
                raise ValueError
            return value.strip()
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ValueError
        return tuple(value)
    except (ValueError, KeyError) as exc:
        name = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}.get(
            wanted, "a list of texts"
        )
        raise Misconfigured(f"setting {key} must be {name}, not {str(value)[:80]!r}") from exc


def _merge(base: _Node, values: Mapping[str, Any], prefix: str) -> _Node:
    """A copy of the settings node with ``values`` laid over it; every key must exist."""
    hints = get_type_hints(type(base))
    known = set(hints)
    changes: dict[str, Any] = {}
    for name, value in values.items():
        key = f"{prefix}{name}"
        if name not in known:
            raise Misconfigured(f"setting {key} is unknown; known here: {', '.join(sorted(known))}")
        current = getattr(base, name)
        if is_dataclass(current):
            if not isinstance(value, Mapping):
                raise Misconfigured(f"setting {key} is a section, not a value")
            changes[name] = _merge(current, value, f"{key}.")
        elif isinstance(value, Mapping):
            raise Misconfigured(f"setting {key} is a value, not a section")
        else:
            changes[name] = _parse(key, value, hints[name])
    return replace(base, **changes)  # type: ignore[type-var] # every settings node is a dataclass


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in sorted(environ.items()):
        if not name.startswith(ENV_PREFIX) or name == API_KEY:
            continue
        parts = name[len(ENV_PREFIX) :].lower().split("__")
        node = tree
        for part in parts[:-1]:
            node = node.setdefault(part, {})
            if not isinstance(node, dict):
                raise Misconfigured(f"{name} is both a value and a section")
        node[parts[-1]] = value
    return tree


def _choose_model(settings: Settings, switch: str | None) -> Settings:
    """What ``USE_OLLAMA`` says: 1 asks the models of this machine only, 0 the hosted one only, where one is
    named; without it all are asked in turn."""
    if not switch:
        return settings
    models = settings.models
    if _parse("USE_OLLAMA", switch, bool):
        return replace(settings, models=replace(models, openai_base_url=""))
    if not models.openai_base_url:
        return replace(settings, models=replace(models, ollama_url=""))
    return replace(settings, models=replace(models, ollama_url="", gguf_path=""))


def _check_url(key: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise Misconfigured(f"setting {key} must be an http or https address, not {url[:80]!r}")


def _check_each(node: Any, prefix: str) -> None:
    """Hold every setting below ``node`` to what its declaration says."""
    for item in fields(node):
        key, value, bounds = f"{prefix}{item.name}", getattr(node, item.name), item.metadata
        if is_dataclass(value):
            _check_each(value, f"{key}.")
        elif "choices" in bounds and value not in bounds["choices"]:
            raise Misconfigured(f"setting {key} must be one of {', '.join(bounds['choices'])}, not {value!r}")
        elif "range" in bounds and not bounds["range"][0] <= value <= bounds["range"][1]:
            if value == 0 and "or_zero" in bounds:
                continue
            least, most = bounds["range"]
            none = "be 0 or " if "or_zero" in bounds else ""
            raise Misconfigured(f"setting {key} must {none}lie between {least:g} and {most:g}, not {value:g}")
        elif "is_url" in bounds and value:
            for url in (value,) if isinstance(value, str) else value:
                _check_url(key, url)


def _check(settings: Settings) -> None:
    _check_each(settings, "")
    try:
        ZoneInfo(settings.time_zone)
    except (ValueError, OSError, ZoneInfoNotFoundError) as exc:
        raise Misconfigured(
            f"setting time_zone must be an IANA time zone such as Europe/Paris, not {settings.time_zone!r}"
        ) from exc
    if any(not char.isprintable() for char in settings.adapters.contact):
        raise Misconfigured("setting adapters.contact must be one line of printable text")
    for url in settings.clock.sources:
        if not url.startswith("https://"):
            raise Misconfigured(
                f"setting clock.sources must be https addresses, not {url[:80]!r}: anybody on the way could "
                "change the date of another"
            )
    for url in settings.adapters.news.feeds:
        if url != "none":
            _check_url("adapters.news.feeds", url)
    for place in settings.log.copies:
        if "://" in place:
            _check_url("log.copies", place)
    for key, values, check in (
        ("peers.urls", settings.peers.urls, address_of),
        ("peers.trusted", settings.peers.trusted, public_key_of),
    ):
        for value in values:
            try:
                check(value)
            except Rejected as exc:
                raise Misconfigured(f"setting {key}: {exc}") from exc
    check_server(settings.server)
    check_agent(settings.agent)


def load(
    environ: Mapping[str, str],
    *,
    file: Path | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Settings:
    """Read and check all settings. ``file`` must exist when given; ``flags`` is a tree like the
    TOML file's. Raises ``Misconfigured``."""
    tree: Mapping[str, Any] = {}
    if file is not None:
        try:
            with translated(f"cannot read the settings file {file}", Misconfigured):
                tree = tomllib.loads(file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
            raise Misconfigured(f"the settings file {file} is not valid TOML: {exc}") from exc
    settings = _merge(Settings(), tree, "")
    settings = _merge(settings, _from_environment(environ), "")
    settings = _merge(settings, flags or {}, "")
    settings = _choose_model(settings, environ.get("USE_OLLAMA"))
    if switch := environ.get("RAG_USE_FALLBACK"):
        by_words = _parse("RAG_USE_FALLBACK", switch, bool)
        settings = replace(settings, documents=replace(settings.documents, use_fallback=by_words))
    _check(settings)
    return settings


def describe() -> list[tuple[str, str, str]]:
    """(key, type, default) of every setting, for the documentation and its test."""
    rows: list[tuple[str, str, str]] = []

    def walk(node: Any, prefix: str) -> None:
        for item in fields(node):
            value = getattr(node, item.name)
            if is_dataclass(value):
                walk(value, f"{prefix}{item.name}.")
            else:
                assert item.default is not MISSING
                rows.append((f"{prefix}{item.name}", type(value).__name__, str(value)))

    walk(Settings(), "")
    return rows
