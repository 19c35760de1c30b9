"""The image and the compose file, read as data: no container engine is at hand to run them."""

from __future__ import annotations

import json
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from node.core import settings
from node.core.peer_address import is_loopback
from node.core.settings import ENV_PREFIX

ROOT = Path(__file__).resolve().parents[3]
DOCKER = ROOT / "docker"
SCRIPTS = "/usr/local/lib/neuroswarm"


def instructions(text: str) -> list[tuple[str, str]]:
    """(instruction, arguments) of a Dockerfile, continuation lines joined, comments left out."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    found = (line.split(None, 1) for line in joined.splitlines() if line.strip())
    return [(word.upper(), rest[0].strip() if rest else "") for word, *rest in found]


DOCKERFILE = instructions((DOCKER / "Dockerfile").read_text())
LAST_STAGE = DOCKERFILE[max(n for n, (word, _) in enumerate(DOCKERFILE) if word == "FROM") :]
COMPOSE: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def copied(steps: list[tuple[str, str]]) -> list[tuple[list[str], str]]:
    """(sources, target) of each COPY out of the repository."""
    found = []
    for word, arguments in steps:
        words = [one for one in arguments.split() if not one.startswith("--chmod")]
        if word == "COPY" and not words[0].startswith("--from"):
            found.append((words[:-1], words[-1]))
    return found


SOURCES = {source for listed, _ in copied(DOCKERFILE) for source in listed}
IGNORED = (DOCKER / "Dockerfile.dockerignore").read_text().splitlines()


def only(word: str) -> str:
    """The arguments of an instruction that the last stage has once."""
    (arguments,) = [rest for name, rest in LAST_STAGE if name == word]
    return arguments


# --- Dockerfile -----------------------------------------------------------------------------------


def test_it_has_stages_of_one_release_and_leaves_the_build_behind() -> None:
    bases = [rest.split()[0] for word, rest in DOCKERFILE if word == "FROM"]
    assert len(bases) == 2
    assert len(set(bases)) == 1
    assert re.fullmatch(r"python:3\.\d+-slim-\w+", bases[0])
    assert not any("pip" in rest.split() for word, rest in LAST_STAGE if word == "RUN")


def test_it_runs_as_a_user_without_rights_and_nothing_is_run_after_that() -> None:
    user = only("USER")
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user)
    after = [word for word, _ in LAST_STAGE[LAST_STAGE.index(("USER", user)) + 1 :]]
    assert "RUN" not in after
    (made,) = [rest for word, rest in LAST_STAGE if word == "RUN" and "useradd" in rest]
    assert f"--uid {user.split(':')[0]}" in made


def test_nothing_is_fetched_but_packages_of_fixed_versions() -> None:
    assert not [rest for word, rest in DOCKERFILE if word == "ADD"]
    for word, rest in DOCKERFILE:
        if word == "RUN":
            assert "http" not in rest
            assert "curl" not in rest
        if word == "RUN" and "/pip " in rest:
            assert "--require-hashes" in rest or rest.endswith("--no-deps --no-build-isolation ."), rest


def test_no_secret_is_in_it() -> None:
    for word, rest in DOCKERFILE:
        assert not (word in ("ENV", "ARG") and re.search(r"(?i)key|secret|token|password", rest)), rest
    named = [name for service in SERVICES.values() for name in service.get("environment", {})]
    assert not [name for name in named if re.search(r"(?i)api_key|secret|token|password", name)]


def test_what_it_copies_exists_and_its_ignore_file_lets_it_through() -> None:
    rules = [line for line in IGNORED if line[:1] not in ("#", "")]
    assert rules[0] == "*"
    assert SOURCES
    for source in SOURCES:
        assert (ROOT / source).exists(), source
        ignored = False
        for rule in rules:
            if fnmatch(source, rule.lstrip("!")) or rule == "*":
                ignored = not rule.startswith("!")
        assert not ignored, source


def test_private_things_are_not_even_sent_to_the_builder() -> None:
    allowed = {line.lstrip("!") for line in IGNORED if line[:1] == "!"}
    assert allowed == SOURCES
    for private in ("data", "governance_logs", ".venv"):
        assert not any(fnmatch(name, f"{private}*") for name in allowed)


def test_all_packages_and_their_data_get_into_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packaged = project["tool"]["setuptools"]
    needed = {f"{name}.py" for name in packaged["py-modules"]} | {"pyproject.toml", "requirements"}
    needed |= {name.split(".")[0] for name in packaged["packages"]}
    assert needed | {project["project"]["readme"], settings.Settings().index_file} <= SOURCES
    data = packaged.get("package-data", {})
    for top in ("node", "adapters"):
        for path in (ROOT / top).rglob("*"):
            if not path.is_file() or "__pycache__" in path.parts:
                continue
            folders = [path.parent] if path.suffix == ".py" else path.relative_to(ROOT).parents
            names = [".".join((ROOT / one).relative_to(ROOT).parts) for one in folders]
            package = next((name for name in names if name in packaged["packages"]), "")
            assert package, f"{path} is in no package of pyproject.toml"
            if path.suffix != ".py":
                inside = str(path.relative_to(ROOT / package.replace(".", "/")))
                assert any(fnmatch(inside, pattern) for pattern in data.get(package, [])), path


def test_its_health_check_asks_livez_and_its_start_goes_through_the_entry_script() -> None:
    check = only("HEALTHCHECK")
    command = json.loads(check[check.index("CMD") + 3 :])
    assert command == ["python", f"{SCRIPTS}/healthy.py"]
    assert "/livez" in (DOCKER / "healthy.py").read_text()
    assert json.loads(only("ENTRYPOINT")) == [f"{SCRIPTS}/entry.sh"]
    assert json.loads(only("CMD")) == ["serve"]
    ((scripts, target),) = [one for one in copied(LAST_STAGE) if one[1].startswith(SCRIPTS)]
    assert target == f"{SCRIPTS}/"
    assert {"docker/entry.sh", "docker/healthy.py", "docker/front.py"} == set(scripts)


def test_its_volumes_are_the_folders_that_the_node_writes_to() -> None:
    folder = only("WORKDIR")
    own = settings.Settings()
    assert set(json.loads(only("VOLUME"))) == {f"{folder}/{own.data_dir}", f"{folder}/{own.governance_dir}"}


# --- what holds in every compose file -------------------------------------------------------------


def is_ours(service: dict[str, Any]) -> None:
    assert (service["image"], service["read_only"], service["cap_drop"]) == ("neuroswarm", True, ["ALL"])


def has_no_more_rights(service: dict[str, Any]) -> None:
    assert "no-new-privileges:true" in service["security_opt"]
    assert not {"privileged", "cap_add", "pid", "user"} & set(service)


def shares_the_front(compose: dict[str, Any], name: str) -> None:
    """The front alone has a network, the others are in it."""
    service = compose["services"][name]
    if name == "front":
        assert service["networks"] == list(compose["networks"])
    else:
        assert service["network_mode"] == "service:front"
        assert not {"ports", "expose", "networks"} & set(service)


# --- compose.yaml ---------------------------------------------------------------------------------


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_every_variable_of_ours_is_a_setting_that_the_node_accepts(service: str) -> None:
    environ = {
        name: re.sub(r"\$\{\w+:-(.*?)\}", r"\1", str(value))
        for name, value in SERVICES[service].get("environment", {}).items()
        if name.startswith(ENV_PREFIX)
    }
    loaded = settings.load(environ)
    assert (loaded != settings.Settings()) == (service == "node")
    assert is_loopback(loaded.server.host)


def test_the_node_is_given_both_engines_where_they_listen() -> None:
    own = SERVICES["node"]["environment"]
    ollama = SERVICES["ollama"]["environment"]["OLLAMA_HOST"]
    assert own["NEUROSWARM_MODELS__OLLAMA_URL"] == f"http://{ollama}"
    script = (DOCKER / "kubo-loopback.sh").read_text()
    (port,) = re.findall(r"Addresses\.API /ip4/127\.0\.0\.1/tcp/(\d+)", script)
    assert own["NEUROSWARM_IPFS__KUBO_URL"] == f"http://127.0.0.1:{port}"
    assert any("kubo-loopback.sh:/container-init.d/" in one for one in SERVICES["kubo"]["volumes"])


def test_one_port_is_published_and_that_on_the_loopback_of_the_host() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert published == ["127.0.0.1:8642:8643"]
    assert SERVICES["front"]["entrypoint"][-2:] == ["8643", str(settings.Settings().server.port)]
    for name in SERVICES:
        shares_the_front(COMPOSE, name)


def test_our_containers_have_a_read_only_root_and_no_capabilities() -> None:
    for name in ("front", "node"):
        is_ours(SERVICES[name])
    for service in SERVICES.values():
        has_no_more_rights(service)
        assert not any("docker.sock" in one for one in service.get("volumes", []))
        assert re.search(r":v?\d+\.\d+", service["image"]) or service["image"] == "neuroswarm"


def test_volumes_are_declared_and_the_node_keeps_its_own() -> None:
    volumes = [one for service in SERVICES.values() for one in service.get("volumes", [])]
    assert {one.split(":")[0] for one in volumes if one[0] not in "./"} == set(COMPOSE["volumes"])
    assert {one.split(":")[1] for one in SERVICES["node"]["volumes"]} == set(json.loads(only("VOLUME")))


def test_the_node_has_time_to_stop() -> None:
    grace = float(SERVICES["node"]["stop_grace_period"].removesuffix("s"))
    assert grace > settings.Settings().server.shutdown_timeout_s


def test_the_readme_documents_what_the_compose_file_sets() -> None:
    text = (DOCKER / "README.md").read_text()
    for name in SERVICES["node"]["environment"]:
        assert f"`{name}`" in text
    for name in re.findall(r"`(NEUROSWARM_[A-Z_]+)`", text):
        if "HOST" not in name:  # named there because it must stay as it is
            section = name.removeprefix(ENV_PREFIX).lower().replace("__", ".")
            assert section in {key for key, _, _ in settings.describe()}, name
