"""The service on the stand-in Slurm, whose faults can be switched on, and on the lab."""

from collections.abc import Iterator

import pytest

from lab.fake_slurm.state import Settings
from tests.testing.fake_slurm import carried
from tests.testing.faults.on_fake_slurm import OnStandIn, a_minute_later, settings
from tests.testing.service import running


@pytest.fixture(scope="session")
def _on_stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnStandIn]:
    home = tmp_path_factory.mktemp("standin")
    with carried(home / "slurm", Settings()) as stage, running(home / "home", settings(home)) as service:
        yield OnStandIn(service, stage)


@pytest.fixture
def on(_on_stand_in: OnStandIn) -> Iterator[OnStandIn]:
    a_minute_later(_on_stand_in.service)
    yield _on_stand_in
    stage = _on_stand_in.stage
    stage.db.execute("DELETE FROM faults")
    for name, value in {"max_array_size": 1001, "sacct_late_s": 0, "accounting": 1}.items():
        stage.set(name, value)
    stage.db.execute("UPDATE hosts SET down = 0")
