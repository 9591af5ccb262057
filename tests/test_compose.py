"""docker-compose.yml and its companions, as documents: no Docker is needed to see that they hold together."""

import os
import re
import subprocess
import tomllib
from pathlib import Path
from secrets import token_hex
from typing import Any

import psutil
import pytest
import redis
import yaml

from contract.settings import Settings
from tests.testing.needs import program
from tests.testing.servers import free_port, wait_for

pytestmark = pytest.mark.ring("quick")

HOUSE = Path(__file__).parents[1]
DOCUMENT: dict[str, dict[str, Any]] = yaml.safe_load((HOUSE / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = DOCUMENT["services"]
SLURM = {name for name, service in SERVICES.items() if "slurm" in service.get("profiles", [])}
PROJECT = tomllib.loads((HOUSE / "pyproject.toml").read_text())
TEXTS = ["Dockerfile", "docker-compose.yml", "docker/cluster.yml", "docs/docker.md"]


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_says_whether_it_is_well_or_runs_once(service: str) -> None:
    assert "healthcheck" in SERVICES[service] or SERVICES[service]["restart"] == "no"


@pytest.mark.parametrize("service", SERVICES)
def test_no_port_is_published_beyond_loopback(service: str) -> None:
    assert all(str(port).startswith("127.0.0.1:") for port in SERVICES[service].get("ports", []))


@pytest.mark.parametrize("text", TEXTS)
def test_every_bigbatch_variable_is_a_setting(text: str) -> None:
    """The client alone reads BIGBATCH_URL."""
    known = {f"BIGBATCH_{name.upper()}" for name in Settings.model_fields}
    assert set(re.findall(r"BIGBATCH_[A-Z_]+", (HOUSE / text).read_text())) - known <= {"BIGBATCH_", "BIGBATCH_URL"}


def test_every_image_of_others_has_a_tag_and_a_digest() -> None:
    """A tag tells a person the version, and may get another content; a digest is the content."""
    bases = re.findall(r"^FROM (\S+)", (HOUSE / "Dockerfile").read_text(), re.MULTILINE)
    used = [service["image"] for service in SERVICES.values() if "build" not in service]
    assert len(bases) == 3
    for image in [*bases, *used]:
        assert re.fullmatch(r"[a-z]+:[0-9a-z.-]+@sha256:[0-9a-f]{64}", image), image
        assert ":latest" not in image
    assert len({image for image in bases if image.startswith("debian:")}) == 1


def test_the_documented_command_renews_every_digest() -> None:
    [names] = re.findall(r"for name in (.*); do\n.*imagetools", (HOUSE / "docs" / "docker.md").read_text())
    texts = "".join((HOUSE / name).read_text() for name in ("Dockerfile", "docker-compose.yml"))
    assert set(names.split()) == set(re.findall(r"([a-z]+:[0-9a-z.-]+)@sha256:", texts))


@pytest.mark.parametrize("service", SERVICES)
def test_no_service_can_use_up_the_processes_or_the_memory_of_the_machine(service: str) -> None:
    options = SERVICES[service]
    assert 64 <= options["pids_limit"] <= 16_384
    assert re.fullmatch(r"(\$\{[A-Z]+_MEMORY:-)?[0-9]+g\}?", options["mem_limit"])
    for mount in options["tmpfs"]:
        assert re.search(r"[:,]size=[0-9]+[mg]$", mount), mount  # without a size, half of the machine's memory


def test_only_the_containers_of_runs_have_room_for_them() -> None:
    large = {name for name, service in SERVICES.items() if "RUNS_MEMORY" in service["mem_limit"]}
    assert large == {"worker", "gpu1", "gpu2", "knl1"}
    assert {SERVICES[name]["pids_limit"] for name in large} == {16_384}


def test_our_image_is_tagged_with_the_version_that_is_in_it() -> None:
    own = {service["image"] for service in SERVICES.values() if "build" in service}
    assert own == {f"bigbatch:{PROJECT['project']['version']}"}


def test_nobody_but_the_api_knows_the_token() -> None:
    knowing = [name for name, service in SERVICES.items() if "BIGBATCH_TOKEN" in service.get("environment", {})]
    assert knowing == ["api"]


def test_no_password_has_a_default_and_a_missing_one_is_named() -> None:
    text = (HOUSE / "docker-compose.yml").read_text()
    uses = re.findall(r"\$\{(\w*(?:PASSWORD|TOKEN))(.*?)\}", text)
    assert {name for name, _ in uses} == {"BIGBATCH_TOKEN", "POSTGRES_PASSWORD", "REDIS_PASSWORD"}
    assert [name for name, rest in uses if not rest.startswith(":?set it in ")] == []


@pytest.mark.parametrize(
    ("secret", "knowing"),
    [
        ("POSTGRES_PASSWORD", {"postgres", "migrate", "api", "worker", "clock"}),
        ("REDIS_PASSWORD", {"redis", "worker", "clock"}),
    ],
)
def test_a_password_is_known_where_it_is_needed(secret: str, knowing: set[str]) -> None:
    assert {name for name, service in SERVICES.items() if f"${{{secret}" in str(service)} == knowing
    outside = [name for name, service in SERVICES.items() if secret in str({**service, "environment": None})]
    assert outside == [], "a command line, unlike an environment, is readable for every process"


@pytest.mark.redis
def test_redis_answers_to_its_password_only(tmp_path: Path) -> None:
    """Run the command of the container, with an entry point that moves the port and the folder."""
    program("redis-server")
    port, password = free_port(), token_hex(8)
    entry = tmp_path / "docker-entrypoint.sh"
    entry.write_text(f'#!/bin/sh\nexec "$@" --port {port} --dir {tmp_path} --bind 127.0.0.1\n')
    entry.chmod(0o755)
    command = [word.replace("$$", "$") for word in SERVICES["redis"]["command"]]
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"], "/usr/sbin"])
    environment = {**os.environ, "PATH": path, "REDISCLI_AUTH": password}
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_for("Redis", lambda: _answers(port, password))
        assert not _answers(port, None)
        assert not _answers(port, "another")
        assert password not in " ".join(psutil.Process(process.pid).cmdline())
    finally:
        process.terminate()
        process.wait(60)


def _answers(port: int, password: str | None) -> bool:
    try:
        return bool(redis.Redis(port=port, password=password).ping())
    except redis.RedisError:
        return False


SECRETS = ("BIGBATCH_TOKEN", "POSTGRES_PASSWORD", "REDIS_PASSWORD")
ENVIRONMENT = dict.fromkeys(SECRETS, "secret") | {"RUN_AS": "1000:1000", "BIGBATCH_RUNS": "/shared/runs"}


def compose(folder: Path, environment: dict[str, str], *files: str) -> subprocess.CompletedProcess[str]:
    """Let Docker Compose read the files, which needs no Docker engine."""
    named = [word for name in files for word in ("-f", str(HOUSE / name))]
    (empty := folder / "empty").touch()  # in place of the .env of this folder
    command = [str(program("docker-compose")), "--env-file", str(empty), *named, "config"]
    path = {"PATH": os.environ["PATH"]}
    return subprocess.run(command, env={**path, **environment}, capture_output=True, text=True)


@pytest.mark.parametrize("more", [[], ["docker/cluster.yml"]])
def test_docker_compose_reads_the_files(more: list[str], tmp_path: Path) -> None:
    done = compose(tmp_path, ENVIRONMENT, "docker-compose.yml", *more)
    assert (done.returncode, done.stderr) == (0, "")
    assert {"api", "worker", "clock", "postgres", "redis"} <= set(yaml.safe_load(done.stdout)["services"])


@pytest.mark.parametrize("secret", SECRETS)
def test_docker_compose_refuses_a_missing_secret(secret: str, tmp_path: Path) -> None:
    others = {name: value for name, value in ENVIRONMENT.items() if name != secret}
    done = compose(tmp_path, others, "docker-compose.yml")
    assert done.returncode == 1
    assert "set it in .env" in done.stderr


@pytest.mark.parametrize("service", SERVICES)
def test_no_service_has_privileges_or_runs_as_root(service: str) -> None:
    options = SERVICES[service]
    assert options["cap_drop"] == ["ALL"]
    assert options["security_opt"] == ["no-new-privileges:true"]
    assert not {"cap_add", "privileged", "pid", "ipc", "network_mode"} & options.keys()
    users = re.findall(r"^USER (\S+)", (HOUSE / "Dockerfile").read_text(), re.MULTILINE)
    assert options.get("user", users[-1] if "build" in options else "root") not in ("root", "0")


@pytest.mark.parametrize("service", SERVICES)
def test_only_volumes_and_memory_are_writable(service: str) -> None:
    assert SERVICES[service]["read_only"] is (service not in SLURM)
    assert any(str(mount).split(":")[0] == "/tmp" for mount in SERVICES[service]["tmpfs"])


@pytest.mark.parametrize(
    ("network", "members"),
    [
        ("database", {"postgres", "migrate", "api", "worker", "clock"}),
        ("broker", {"redis", "worker", "clock"}),
        ("front", {"api"}),
        ("cluster", {"worker", *SLURM}),
    ],
)
def test_a_network_has_only_the_services_that_need_it(network: str, members: set[str]) -> None:
    assert {name for name, service in SERVICES.items() if network in service["networks"]} == members
    assert (DOCUMENT["networks"][network] or {}).get("internal", False) is (network in ("database", "broker"))


def test_only_the_api_publishes_a_port() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["api"]


def test_slurm_nodes_have_no_secret_and_reach_neither_database_nor_broker() -> None:
    for name in SLURM:
        assert SERVICES[name]["networks"] == ["cluster"], name
        assert "environment" not in SERVICES[name], name


def test_every_package_but_the_lab_travels_to_the_engine() -> None:
    packages = {name.rstrip("*") for name in PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]}
    sent = {line[1:] for line in (HOUSE / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert packages - {"lab"} <= sent
