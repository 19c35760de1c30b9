"""Every setting of the node: one frozen tree, read once, with units in the names.

Sources, later ones win: the defaults below, one TOML file, ``NEUROSWARM_<SECTION>__<KEY>`` in the environment
(``NEUROSWARM_ADAPTERS__COINGECKO__BASE_URL``), command-line flags. Unknown or malformed values stop the start
with one sentence that names the key. No other file reads the environment.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar, get_type_hints
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from node.core.errors import Misconfigured, Rejected
from node.core.peer_address import address_of
from node.core.record import public_key_of

ENV_PREFIX = "NEUROSWARM_"


@dataclass(frozen=True, slots=True)
class Server:
    """Where the node listens, and the bounds of a request."""

    host: str = "127.0.0.1"
    port: int = 8642
    max_body_bytes: int = 65_536
    request_timeout_s: float = 60.0
    concurrent_requests_max: int = 1_024
    shutdown_timeout_s: float = 20.0


@dataclass(frozen=True, slots=True)
class Embed:
    """``engine``: local, ollama, llama_cpp, openai, or none (exact, slot and keyword look-up go on without
    embeddings). ``model``: the engine's name for it; empty means the engine's default. ``gguf_path``: the
    embedding model of llama_cpp. ``timeout_s`` bounds one attempt of an engine outside this process."""

    engine: str = "local"
    model: str = ""
    gguf_path: str = ""
    timeout_s: float = 30.0
    attempts: int = 3
    threads: int = 1
    batch_max: int = 4
    queue_max: int = 1_024


@dataclass(frozen=True, slots=True)
class Models:
    """Language models. An empty ``ollama_url`` switches Ollama off. ``window_tokens``: of llama.cpp, prompt
    and answer together. ``context_chars_max`` and ``context_tokens_max`` bound the evidence of a prompt.
    ``…_parallel``: generations at once, where the engine can do more than one. ``gguf_engine``: ``auto``
    takes xllamacpp where it works, else llama-cpp-python."""

    ollama_url: str = "http://127.0.0.1:11434"
    ollama_model: str = ""
    openai_base_url: str = ""
    openai_api_key: str = field(default="", repr=False)
    openai_model: str = ""
    gguf_path: str = ""
    timeout_s: float = 45.0
    tokens_max: int = 200
    window_tokens: int = 2_048
    context_chars_max: int = 1_500
    context_tokens_max: int = 900
    queue_max: int = 64
    gguf_engine: str = "auto"
    ollama_parallel: int = 1
    openai_parallel: int = 1
    gguf_parallel: int = 2


@dataclass(frozen=True, slots=True)
class Ipfs:
    """An optional daemon; the embedded block store is always there. Only public blocks are given to it unless
    ``daemon_is_private``; then shared ones too. ``timeout_s`` bounds one call. ``announce``: multiaddrs of
    this node that clients of its router are told; the address that it listens on where there are none.
    ``gateway_concurrent_max``: requests for blocks at once. ``foreign_max_bytes``: what imported CARs may
    take."""

    kubo_url: str = ""
    timeout_s: float = 5.0
    daemon_is_private: bool = False
    announce: tuple[str, ...] = ()
    gateway_concurrent_max: int = 32
    foreign_max_bytes: int = 8 * 2**30


@dataclass(frozen=True, slots=True)
class AdapterSettings:
    """One adapter's outside address, key and limits; empty means the adapter's own default."""

    base_url: str = ""
    api_key: str = field(default="", repr=False)
    enabled: bool = True
    timeout_s: float = 4.0
    per_minute: int = 0


@dataclass(frozen=True, slots=True)
class News:
    """Feeds by address (RSS, Atom, RDF), comma separated in the environment; empty means a short list of
    public ones, a single ``none`` no feeds at all. ``enabled`` switches the adapter."""

    feeds: tuple[str, ...] = ()
    enabled: bool = True
    timeout_s: float = 6.0


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

    max_wrong_hit_rate: float = 0.01
    max_wrong_per_hit: float = 0.05
    threshold: float = 0.80
    threshold_deterministic: float = 0.90
    threshold_generative: float = 0.70
    confidence_min: float = 0.80
    neighbours: int = 8
    hnsw_above: int = 20_000
    shadow: bool = False
    audit_share: float = 0.02
    audits_per_hour: int = 30
    max_entries: int = 1_000_000
    max_bytes: int = 16 * 2**30
    write_queue_max: int = 256
    expired_grace_s: int = 3_600
    negative_s: float = 10.0
    sweep_every_s: int = 60


@dataclass(frozen=True, slots=True)
class Sharing:
    """``publish``: none, sourced, grounded, all."""

    publish: str = "none"


@dataclass(frozen=True, slots=True)
class Peers:
    """Peers by URL or IPNS name. ``trusted``: roots (did:key) that are trusted without ``peers trust``.
    ``quorum``: how many trust groups must agree. ``of_peers``: poll also whom peers name.
    ``verify_per_hour``: records that are recomputed here by asking a source outside. ``records_max`` and
    ``bytes_max`` are for each root; ``near_max``: its live records within one neighbourhood of meaning."""

    urls: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()
    quorum: int = 2
    every_s: int = 60
    timeout_s: float = 10.0
    of_peers: bool = False
    verify_per_hour: int = 60
    records_max: int = 100_000
    bytes_max: int = 512 * 2**20
    validations_per_hour: int = 1_000
    near_max: int = 8


@dataclass(frozen=True, slots=True)
class Log:
    """The decision log. ``durability``: before_reply, behind_50ms, memory (lost at stop). ``witness_policy``:
    path of a tlog-policy file: who must cosign our checkpoints, and whose we cosign. ``anchor_calendars``:
    OpenTimestamps calendars by URL; none by default. ``block_headers_url``: who knows the block headers."""

    durability: str = "before_reply"
    on_failure: str = "answer"
    publish_every_s: float = 1.0
    shard_entries: int = 10_000_000
    alarm_bytes: int = 20 * 2**30
    witness_policy: str = ""
    witness_timeout_s: float = 10.0
    witness_ml_dsa: bool = False
    anchor_calendars: tuple[str, ...] = ()
    anchor_every_s: int = 3_600
    block_headers_url: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole tree."""

    data_dir: str = "data"
    governance_dir: str = "governance_logs"
    index_file: str = "knowledge-index.json"
    time_zone: str = "UTC"
    server: Server = Server()
    embed: Embed = Embed()
    models: Models = Models()
    ipfs: Ipfs = Ipfs()
    adapters: Adapters = Adapters()
    cache: Cache = Cache()
    sharing: Sharing = Sharing()
    peers: Peers = Peers()
    log: Log = Log()


_CHOICES: Mapping[str, tuple[str, ...]] = {
    "embed.engine": ("local", "ollama", "llama_cpp", "openai", "none"),
    "models.gguf_engine": ("auto", "xllamacpp", "llama_cpp"),
    "sharing.publish": ("none", "sourced", "grounded", "all"),
    "log.durability": ("before_reply", "behind_50ms", "memory"),
    "log.on_failure": ("answer", "refuse"),
}
_RANGES: Mapping[str, tuple[float, float]] = {
    "server.port": (0, 65_535),
    "server.max_body_bytes": (1_024, 64 * 2**20),
    "server.request_timeout_s": (1, 600),
    "server.concurrent_requests_max": (1, 100_000),
    "server.shutdown_timeout_s": (1, 600),
    "embed.threads": (1, 64),
    "embed.batch_max": (1, 64),
    "embed.queue_max": (1, 1_000_000),
    "embed.timeout_s": (0.1, 600),
    "embed.attempts": (1, 10),
    "ipfs.timeout_s": (0.1, 60),
    "ipfs.gateway_concurrent_max": (1, 10_000),
    "ipfs.foreign_max_bytes": (0, 2**50),
    "models.timeout_s": (1, 600),
    "models.tokens_max": (1, 8_192),
    "models.window_tokens": (512, 131_072),
    "models.context_chars_max": (200, 1_000_000),
    "models.context_tokens_max": (50, 100_000),
    "models.queue_max": (1, 10_000),
    "models.ollama_parallel": (1, 64),
    "models.openai_parallel": (1, 256),
    "models.gguf_parallel": (1, 16),
    "cache.max_wrong_hit_rate": (0, 1),
    "cache.max_wrong_per_hit": (0, 1),
    "cache.threshold": (0, 1),
    "cache.threshold_deterministic": (0, 1),
    "cache.threshold_generative": (0, 1),
    "cache.confidence_min": (0, 1),
    "cache.neighbours": (1, 256),
    "cache.hnsw_above": (1_000, 10**8),
    "cache.audit_share": (0, 1),
    "cache.audits_per_hour": (0, 100_000),
    "cache.max_entries": (1, 10**9),
    "cache.max_bytes": (2**20, 2**50),
    "cache.write_queue_max": (1, 1_000_000),
    "cache.expired_grace_s": (0, 10**8),
    "cache.sweep_every_s": (1, 86_400),
    "cache.negative_s": (0, 300),
    "log.publish_every_s": (0.05, 3_600),
    "log.shard_entries": (256, 10**9),
    "log.alarm_bytes": (2**20, 2**50),
    "log.witness_timeout_s": (0.1, 120),
    "log.anchor_every_s": (60, 10**8),
    "adapters.news.timeout_s": (0.05, 60),
    "peers.quorum": (1, 100),
    "peers.every_s": (1, 86_400),
    "peers.timeout_s": (0.1, 120),
    "peers.verify_per_hour": (0, 100_000),
    "peers.records_max": (0, 10**8),
    "peers.bytes_max": (0, 2**50),
    "peers.validations_per_hour": (0, 10**6),
    "peers.near_max": (1, 256),
}
_ADAPTER_RANGES: Mapping[str, tuple[float, float]] = {"timeout_s": (0.05, 60), "per_minute": (0, 100_000)}

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
        if not name.startswith(ENV_PREFIX):
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


def _check(settings: Settings) -> None:
    for key, choices in _CHOICES.items():
        value = _value(settings, key)
        if value not in choices:
            raise Misconfigured(f"setting {key} must be one of {', '.join(choices)}, not {value!r}")
    ranges = dict(_RANGES)
    for item in fields(settings.adapters):
        adapter = getattr(settings.adapters, item.name)
        if not isinstance(adapter, AdapterSettings):
            continue
        if adapter.base_url:
            _check_url(f"adapters.{item.name}.base_url", adapter.base_url)
        ranges |= {f"adapters.{item.name}.{name}": span for name, span in _ADAPTER_RANGES.items()}
    for key, (least, most) in ranges.items():
        value = _value(settings, key)
        if not least <= value <= most:
            raise Misconfigured(f"setting {key} must lie between {least:g} and {most:g}, not {value:g}")
    try:
        ZoneInfo(settings.time_zone)
    except (ValueError, OSError, ZoneInfoNotFoundError) as exc:
        raise Misconfigured(
            f"setting time_zone must be an IANA time zone such as Europe/Paris, not {settings.time_zone!r}"
        ) from exc
    if any(not char.isprintable() for char in settings.adapters.contact):
        raise Misconfigured("setting adapters.contact must be one line of printable text")
    for url in settings.adapters.news.feeds:
        if url != "none":
            _check_url("adapters.news.feeds", url)
    for url in settings.log.anchor_calendars:
        _check_url("log.anchor_calendars", url)
    for key in ("models.ollama_url", "models.openai_base_url", "ipfs.kubo_url", "log.block_headers_url"):
        if url := _value(settings, key):
            _check_url(key, url)
    for key, values, check in (
        ("peers.urls", settings.peers.urls, address_of),
        ("peers.trusted", settings.peers.trusted, public_key_of),
    ):
        for value in values:
            try:
                check(value)
            except Rejected as exc:
                raise Misconfigured(f"setting {key}: {exc}") from exc
    if not is_loopback(settings.server.host):
        raise Misconfigured(
            f"setting server.host is {settings.server.host!r}: without API keys this node listens on "
            "loopback only (127.0.0.1, ::1 or localhost)"
        )


def is_loopback(host: str) -> bool:
    """Whether ``host`` names this machine only."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _value(settings: Settings, key: str) -> Any:
    node: Any = settings
    for part in key.split("."):
        node = getattr(node, part)
    return node


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
            tree = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as exc:
            raise Misconfigured(f"cannot read the settings file {file}: {exc.strerror}") from exc
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
            raise Misconfigured(f"the settings file {file} is not valid TOML: {exc}") from exc
    settings = _merge(Settings(), tree, "")
    settings = _merge(settings, _from_environment(environ), "")
    settings = _merge(settings, flags or {}, "")
    settings = _choose_model(settings, environ.get("USE_OLLAMA"))
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
