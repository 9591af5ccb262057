"""The service on embedded parts, and on the parts of a team: PostgreSQL, Redis and the Slurm lab."""

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests import servers
from tests.flow.service import Service, running
from tests.needs import require

_numbers = itertools.count()


@pytest.fixture(scope="session")
def lab() -> Iterator[dict[str, str]]:
    """The Slurm lab; yields the environment that its commands need. A lab that was up before stays up."""
    from lab.needs import missing

    require(missing())
    command = [sys.executable, "-m", "lab"]
    was_up = subprocess.run([*command, "status"], capture_output=True).returncode == 0
    subprocess.run([*command, "up"], check=True)
    told = subprocess.run([*command, "env"], check=True, capture_output=True, text=True).stdout
    lines = [line.removeprefix("export ").split("=", 1) for line in told.splitlines() if line.startswith("export ")]
    yield {name: value.strip("'\"") for name, value in lines}
    if not was_up:
        subprocess.run([*command, "down"], check=True)


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("embedded"), {"BIGBATCH_SLURM": "false"}) as service:
        yield service


@pytest.fixture(scope="module")
def team(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: str, redis_url: str, lab: dict[str, str]
) -> Iterator[Service]:
    settings = {
        **lab,
        "PATH": os.pathsep.join([os.environ["PATH"], "/usr/sbin"]),
        "BIGBATCH_DATABASE": servers.new_database(postgres_server, f"flow{next(_numbers)}"),
        "BIGBATCH_BROKER": redis_url,
        "BIGBATCH_SLURM": "true",
        "BIGBATCH_SLURM_SETUP": "export GLOO_SOCKET_IFNAME=eth0;;export OMP_NUM_THREADS=1",
    }
    assert shutil.which("sbatch")
    with running(tmp_path_factory.mktemp("team"), settings) as service:
        yield service
