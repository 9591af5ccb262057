"""The service on embedded parts, and on the parts of a team: PostgreSQL, Redis and the Slurm lab."""

import itertools
import os
import shutil
from collections.abc import Iterator

import pytest

from tests.testing.databases import new_database
from tests.testing.service import Service, running

_numbers = itertools.count()


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
        "BIGBATCH_DATABASE": new_database(postgres_server, f"flow{next(_numbers)}"),
        "BIGBATCH_BROKER": redis_url,
        "BIGBATCH_SLURM": "true",
        "BIGBATCH_SLURM_SETUP": "export GLOO_SOCKET_IFNAME=eth0;;export OMP_NUM_THREADS=1",
    }
    assert shutil.which("sbatch")
    with running(tmp_path_factory.mktemp("team"), settings) as service:
        yield service
