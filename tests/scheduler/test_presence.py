"""A machine with Slurm's commands and no cluster has no Slurm; a cluster that is away stays."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import Engine

from contract.api.cluster_report import ClusterReport
from contract.api.site_check import Grade
from contract.settings import Settings
from scheduler.__main__ import main
from scheduler.clusters.slurm import presence
from scheduler.context import Context
from scheduler.doctor.examine import run_checks
from store import clusters
from store.session import transaction
from tests.testing.clusters import Play

pytestmark = pytest.mark.usefixtures("imported_torch")

NO_CONFIGURATION = (
    'echo "scontrol: error: fetch_config: DNS SRV lookup failed" >&2; '
    'echo "scontrol: fatal: Could not establish a configuration source" >&2; exit 1'
)
IS_DOWN = 'echo "slurm_load_ctl_conf error: Unable to contact slurm controller" >&2; exit 1'
# a configless client whose domain names a server that does not answer
SERVER_IS_DOWN = 'echo "scontrol: fatal: Could not establish a configuration source" >&2; exit 1'


@pytest.fixture
def settings(tmp_path: Path, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name in presence.CONNECTION_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(presence, "CONFIGURATIONS", (tmp_path / "slurm.conf",))
    return Settings(home=tmp_path, database=str(sqlite_engine.url))


def test_commands_without_a_cluster_are_no_slurm_and_the_log_and_the_doctor_say_so_once(
    settings: Settings, play: Play, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play("sbatch", "true")
    play("scontrol", NO_CONFIGURATION)
    assert [*Context.of(settings).clusters] == ["local"]
    monkeypatch.setattr("scheduler.__main__.read_process_settings", lambda: settings)
    monkeypatch.setattr("scheduler.app.make_app", lambda _: SimpleNamespace(worker_main=lambda _: None))
    main(["worker"])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Slurm is not used: this host has no slurm.conf")
    (check,) = [check for check in run_checks(settings, ["--no-job"]) if check.area == "slurm"]
    assert (check.grade, "this host has no slurm.conf" in check.found) == (Grade.NOTE, True)


@pytest.mark.parametrize("script", ["true", IS_DOWN, SERVER_IS_DOWN], ids=["up", "down", "its server of files is down"])
def test_a_cluster_that_may_be_away_stays(settings: Settings, play: Play, script: str) -> None:
    play("sbatch", "true")
    play("scontrol", script)
    assert [*Context.of(settings).clusters] == ["local", "slurm"]


@pytest.mark.parametrize("evidence", ["variable", "file", "setting", "report"])
def test_a_cluster_that_is_configured_or_was_used_stays(
    settings: Settings, play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evidence: str
) -> None:
    """Forces the fault: for a moment the commands find no configuration, as during an outage of the name service."""
    play("sbatch", "true")
    play("scontrol", NO_CONFIGURATION)
    context = Context.of(settings)
    if evidence == "variable":
        monkeypatch.setenv("SLURM_CONF", "/shared/slurm.conf")
    elif evidence == "file":
        (tmp_path / "slurm.conf").touch()
    elif evidence == "setting":
        settings = settings.model_copy(update={"slurm": True})
    else:
        with transaction(context.engine) as db:
            clusters.store_report(db, "slurm", ClusterReport(partitions=[], nodes=[], queue=[]), None)
    assert [*Context.of(settings).clusters] == ["local", "slurm"]
