"""Settings: defaults, file, environment and flags in that order; a wrong value is one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from node.core.errors import Misconfigured
from node.core.settings import Settings, load
from tests.each import each


def test_defaults_load_without_any_source() -> None:
    assert load({}) == Settings()


def test_later_sources_win(tmp_path: Path) -> None:
    file = tmp_path / "neuroswarm.toml"
    file.write_text(
        'data_dir = "from-file"\n[server]\nport = 1\nmax_body_bytes = 2048\n[peers]\nurls = ["http://a"]\n'
    )
    settings = load(
        {"NEUROSWARM_SERVER__PORT": "2", "NEUROSWARM_CACHE__SHADOW": "true", "OTHER": "x"},
        file=file,
        flags={"server": {"port": 3}},
    )
    assert settings.data_dir == "from-file"
    assert settings.server.port == 3
    assert settings.server.max_body_bytes == 2048
    assert settings.cache.shadow
    assert settings.peers.urls == ("http://a",)


def test_an_adapter_is_set_from_the_environment() -> None:
    settings = load({"NEUROSWARM_ADAPTERS__COINGECKO__BASE_URL": "http://127.0.0.1:1/api"})
    assert settings.adapters.coingecko.base_url == "http://127.0.0.1:1/api"


@each(
    ("environ", "named"),
    [
        ({"NEUROSWARM_SERVER__PRT": "1"}, "server.prt"),
        ({"NEUROSWARM_SERVER__PORT": "x"}, "server.port"),
        ({"NEUROSWARM_SERVER__PORT": "70000"}, "server.port"),
        ({"NEUROSWARM_SERVER": "x"}, "server"),
        ({"NEUROSWARM_DATA_DIR__X": "x"}, "data_dir"),
        ({"NEUROSWARM_CACHE__SHADOW": "maybe"}, "cache.shadow"),
        ({"NEUROSWARM_CACHE__THRESHOLD": "nan"}, "cache.threshold"),
        ({"NEUROSWARM_CACHE__THRESHOLD": "1.5"}, "cache.threshold"),
        ({"NEUROSWARM_EMBED__ENGINE": "magic"}, "embed.engine"),
        ({"NEUROSWARM_SHARING__PUBLISH": "some"}, "sharing.publish"),
        ({"NEUROSWARM_MODELS__OLLAMA_URL": "ftp://x"}, "models.ollama_url"),
        ({"NEUROSWARM_MODELS__OLLAMA_URL": "http://[bad"}, "models.ollama_url"),
        ({"NEUROSWARM_SERVER__ALLOWED_HOSTS": "https://node.example"}, "server.allowed_hosts"),
        ({"NEUROSWARM_SERVER__ALLOWED_HOSTS": "*"}, "server.allowed_hosts"),
        ({"NEUROSWARM_SERVER__CORS_ORIGINS": "*"}, "server.cors_origins"),
        ({"NEUROSWARM_SERVER__CORS_ORIGINS": "https://app.example/path"}, "server.cors_origins"),
        ({"NEUROSWARM_SERVER__TRUSTED_PROXIES": "proxy.example"}, "server.trusted_proxies"),
        ({"NEUROSWARM_SERVER__TENANT_HEADER": "X-Tenant"}, "server.tenant_header"),
        (
            {
                "NEUROSWARM_SERVER__TRUSTED_PROXIES": "10.0.0.0/8",
                "NEUROSWARM_SERVER__TENANT_HEADER": "Host",
            },
            "server.tenant_header",
        ),
        ({"NEUROSWARM_SERVER__TLS_KEY": "key.pem"}, "server.tls_certificate"),
        ({"NEUROSWARM_ADAPTERS__COINGECKO__TIMEOUT_S": "0"}, "adapters.coingecko.timeout_s"),
    ],
)
def test_a_wrong_value_names_its_key(environ: dict[str, str], named: str) -> None:
    with pytest.raises(Misconfigured, match=named.replace(".", r"\.")):
        load(environ)


@pytest.mark.parametrize("text", ["[server", "server = 1", "[server]\nport = 1.5", "[server]\nport = true"])
def test_a_wrong_file_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.toml"
    file.write_text(text)
    with pytest.raises(Misconfigured):
        load({}, file=file)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="cannot read"):
        load({}, file=tmp_path / "none.toml")


def test_secrets_do_not_show() -> None:
    flags: dict[str, Any] = {
        "models": {"openai_api_key": "s3cret"},
        "adapters": {"coingecko": {"api_key": "s3cret"}},
    }
    assert "s3cret" not in repr(load({}, flags=flags))


@pytest.mark.parametrize(
    ("switch", "asked"),
    [
        ("1", ("http://127.0.0.1:11434", "")),
        ("true", ("http://127.0.0.1:11434", "")),
        ("0", ("", "http://127.0.0.1:1/v1")),
        ("", ("http://127.0.0.1:11434", "http://127.0.0.1:1/v1")),
    ],
)
def test_use_ollama_chooses_the_local_model_or_the_hosted_one(switch: str, asked: tuple[str, str]) -> None:
    """S1-08."""
    flags = {"models": {"openai_base_url": "http://127.0.0.1:1/v1"}}
    models = load({"USE_OLLAMA": switch}, flags=flags).models
    assert (models.ollama_url, models.openai_base_url) == asked


def test_use_ollama_must_be_true_or_false() -> None:
    with pytest.raises(Misconfigured, match="USE_OLLAMA must be true or false"):
        load({"USE_OLLAMA": "llama3"})


@pytest.mark.parametrize(("switch", "is_on"), [("1", True), ("0", False), ("", False)])
def test_rag_use_fallback_forces_keywords(switch: str, is_on: bool) -> None:
    """S0-19."""
    assert load({"RAG_USE_FALLBACK": switch}).documents.use_fallback is is_on
    assert load({}, flags={"documents": {"use_fallback": True}}).documents.use_fallback
    with pytest.raises(Misconfigured, match="RAG_USE_FALLBACK must be true or false"):
        load({"RAG_USE_FALLBACK": "keywords"})


def test_the_key_of_programs_on_this_machine_is_no_setting() -> None:
    assert load({"NEUROSWARM_API_KEY": "ns_secret"}) == load({})
