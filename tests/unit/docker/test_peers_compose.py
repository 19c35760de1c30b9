"""The compose file of three nodes, read as data: no container engine is at hand to run it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from node.core import settings
from node.core.peer_address import is_loopback
from node.core.settings import ENV_PREFIX, Settings
from tests.unit.docker.test_image import has_no_more_rights, is_ours, only, shares_the_front

ROOT = Path(__file__).resolve().parents[3]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker" / "compose.peers.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
NODES = ("a", "b", "c")
FRONTS = ("front", "front-b", "front-c")


def loaded(name: str) -> Settings:
    """The settings of a node as its container has them."""
    environ = SERVICES[name]["environment"]
    assert all(key.startswith(ENV_PREFIX) and isinstance(value, str) for key, value in environ.items())
    return settings.load(environ)


def test_the_nodes_know_each_other_and_listen_on_loopback() -> None:
    assert set(SERVICES) == {*NODES, *FRONTS}
    urls = {name: f"http://127.0.0.1:{loaded(name).server.port}" for name in NODES}
    assert len(set(urls.values())) == 3
    for name in NODES:
        own = loaded(name)
        assert is_loopback(own.server.host)
        assert set(own.peers.urls) == {urls[other] for other in NODES if other != name}
        assert own.peers.trusted == ()  # nobody is trusted who was not looked at
    assert [loaded(name).sharing.publish for name in NODES] == ["sourced", "none", "all"]


def test_each_front_leads_to_one_node_and_is_published_on_the_loopback_of_the_host() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert published == SERVICES["front"]["ports"]  # which owns the network
    ports = [port.split(":") for port in published]
    assert {host for host, _, _ in ports} == {"127.0.0.1"}
    behind = {entry[-2]: entry[-1] for name in FRONTS for entry in [SERVICES[name]["entrypoint"]]}
    assert [outside for _, outside, _ in ports] == [behind[inside] for _, _, inside in ports]
    assert list(behind.values()) == [str(loaded(name).server.port) for name in NODES]


@pytest.mark.parametrize("name", [*NODES, *FRONTS])
def test_containers_share_one_loopback_and_have_no_rights(name: str) -> None:
    shares_the_front(COMPOSE, name)
    is_ours(SERVICES[name])
    has_no_more_rights(SERVICES[name])


def test_each_node_keeps_its_own_volumes_and_has_time_to_stop() -> None:
    volumes = [one.split(":") for name in NODES for one in SERVICES[name]["volumes"]]
    assert sorted(volume for volume, _ in volumes) == sorted(COMPOSE["volumes"])
    assert len(volumes) == 6
    for name in NODES:
        assert {one.split(":")[1] for one in SERVICES[name]["volumes"]} == set(json.loads(only("VOLUME")))
        grace = float(SERVICES[name]["stop_grace_period"].removesuffix("s"))
        assert grace > loaded(name).server.shutdown_timeout_s


def test_the_documents_name_the_file() -> None:
    for document in ("docs/peers.md", "docker/README.md"):
        assert "docker/compose.peers.yml" in (ROOT / document).read_text(), document
