"""The locale of a Slurm job: that of the service, although sbatch itself is called with another one."""

import subprocess
from pathlib import Path

import pytest

from contract.folder.run_folder import RunFolder
from contract.spec.program.run import ProgramSpec
from scheduler.clusters.cluster import JobRequest
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.clusters.slurm.commands import command_environment

pytestmark = pytest.mark.ring("quick")


def environment_of_job(environment: dict[str, str]) -> dict[str, str]:
    """Return the variables in the script of a job that sbatch gives `environment`, just before its program starts."""
    need = {"kind": "slurm", "minutes": 20}
    spec = ProgramSpec.model_validate({"command": ["true"], "launcher": "mpirun", "resources": need})
    request = JobRequest("bb-1", RunFolder.of(Path("/runs"), 1, "cafe"), 1, spec)
    *lines, _ = Slurm("python3").script(request).splitlines()
    done = subprocess.run(
        ["bash", "-c", "\n".join([*lines, "exec env"])], env=environment, capture_output=True, text=True
    )
    assert not done.stderr
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("locale", ["C.UTF-8", "", None])
def test_a_job_has_the_locale_of_the_service(locale: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    if locale is not None:
        monkeypatch.setenv("LC_ALL", locale)
    called = command_environment()
    assert called["LC_ALL"] == "C", "Slurm's messages are parsed"
    found = environment_of_job(called)
    assert (found.get("LC_ALL"), found["LANG"]) == (locale or None, "C.UTF-8")
    assert {"BIGBATCH_LC_ALL", "SLURM_BITSTR_LEN"}.isdisjoint(found)


def test_a_script_that_a_user_submits_by_hand_keeps_the_locale() -> None:
    assert environment_of_job({"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})["LC_ALL"] == "C.UTF-8"
