"""docker-compose.yml and its companions, as documents: no Docker is needed to see that they hold together."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from contract.settings import Settings

HOUSE = Path(__file__).parents[1]
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((HOUSE / "docker-compose.yml").read_text())["services"]
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
    known = {f"BIGBATCH_{name.upper()}" for name in Settings.model_fields}
    assert set(re.findall(r"BIGBATCH_[A-Z_]+", (HOUSE / text).read_text())) - known <= {"BIGBATCH_"}


def test_every_image_has_a_tag_that_stays() -> None:
    bases = re.findall(r"^FROM (\S+)", (HOUSE / "Dockerfile").read_text(), re.MULTILINE)
    for image in [*bases, *(service["image"] for service in SERVICES.values())]:
        name, _, tag = image.partition(":")
        assert name, image
        assert tag not in ("", "latest"), image


def test_our_image_is_tagged_with_the_version_that_is_in_it() -> None:
    own = {service["image"] for service in SERVICES.values() if "build" in service}
    assert own == {f"bigbatch:{PROJECT['project']['version']}"}


def test_nobody_but_the_api_knows_the_token() -> None:
    knowing = [name for name, service in SERVICES.items() if "BIGBATCH_TOKEN" in service.get("environment", {})]
    assert knowing == ["api"]


def test_slurm_nodes_reach_neither_database_nor_broker() -> None:
    for name, service in SERVICES.items():
        if "slurm" in service.get("profiles", []):
            assert service["networks"] == ["cluster"], name
            assert "environment" not in service, name


def test_every_package_but_the_lab_travels_to_the_engine() -> None:
    packages = {name.rstrip("*") for name in PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]}
    sent = {line[1:] for line in (HOUSE / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert packages - {"lab"} <= sent
