"""The doctor's lines: each says what it means, and each that is amiss what to set, whatever is found."""

import shutil
import subprocess
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from contract.api.site_check import Check, Grade, failed_check, passed_check
from contract.settings import Settings
from scheduler.clusters.rate_limit import UnlimitedRate
from scheduler.clusters.slurm.commands import Commands
from scheduler.doctor.compute_node import check_compute_node
from scheduler.doctor.configuration import check_configuration
from scheduler.doctor.examine import run_checks
from scheduler.doctor.slurm import check_slurm
from tests.testing.clusters import Play
from tests.testing.slurm import GOOD, PARTITION

pytestmark = pytest.mark.usefixtures("imported_torch")

Line = tuple[str, str, Grade]
Patch = dict[str, Any]

CONFIG = "AccountingStorageType = accounting_storage/slurmdbd\\nMaxArraySize = 5\\n"
# sbatch that leaves in the job's folder what a probe on a compute node would, or what a broken site makes of it
SBATCH = """echo "Submitted batch job 7"; cd "$(dirname "$1")"
cat > here.json <<END
{{"host": "n1", "asked": "{asked}", "holder": "the doctor", "python": "/python", "versions": {versions}}}
END
[ -z '{pong}' ] || echo "{{\\"at\\": {pong}}}" > pong.json
[ -z '{torch}' ] || echo '{torch}' > torch.json
"""
SEEN = {
    "asked": '$(basename "$PWD")',
    "versions": f'{{"bigbatch": "{version("bigbatch")}", "python": "3.11.2"}}',
    "pong": "$(date +%s)",
    "torch": '{"version": "2.7", "gpus": 1}',
}


def lines(answer: Iterable[Check]) -> set[Line]:
    """Which lines came, each of them whole."""
    came = list(answer)
    for check in came:
        assert check.found, check
        assert check.means, check
        assert bool(check.advice) is (check.grade is not Grade.OK), check
    return {(check.area, check.name, check.grade) for check in came}


def test_a_line_without_what_it_means_or_what_to_set_cannot_be_made() -> None:
    with pytest.raises(ValidationError, match="means"):
        passed_check("slurm", "version", "22.05", "")
    with pytest.raises(ValidationError, match="means"):
        failed_check("slurm", "version", Grade.NOTE, found="19.05", means="", advice="22.05")
    for grade in (Grade.NOTE, Grade.WARNING, Grade.ERROR):
        with pytest.raises(ValidationError, match="without advice"):
            failed_check("slurm", "version", grade, found="19.05", means="it is old", advice="")


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("answer", "patch", "line"),
    [
        ({}, {}, ("folder", "runs", Grade.OK)),
        ({"runs": "{tmp}/file/runs"}, {}, ("folder", "runs", Grade.ERROR)),
        ({}, {"_claim_is_exclusive": lambda _: False}, ("folder", "runs", Grade.ERROR)),
        ({}, {"MIN_FREE_BYTES": 1 << 70}, ("space", "home", Grade.ERROR)),
        ({}, {"MIN_FREE_BYTES": 0, "LOW_SHARE": 1.1}, ("space", "cache", Grade.WARNING)),
        ({}, {"MIN_FREE_BYTES": 0, "LOW_SHARE": 0.0}, ("space", "runs", Grade.OK)),
        ({}, {}, ("database", "database", Grade.OK)),
        ({"database": "sqlite:///{tmp}/none.db"}, {}, ("database", "database", Grade.NOTE)),
        ({"database": "postgresql://127.0.0.1:1/x"}, {}, ("database", "database", Grade.ERROR)),
        ({}, {"MAX_CLOCK_SKEW_S": -1.0}, ("database", "database", Grade.WARNING)),
        ({}, {"_file_system_of": lambda _: "nfs"}, ("database", "file system", Grade.ERROR)),
        ({}, {}, ("broker", "broker", Grade.OK)),
        ({}, {"os.access": lambda *_: False}, ("broker", "broker", Grade.ERROR)),
        ({"broker": "memory://"}, {}, ("broker", "broker", Grade.OK)),
        ({"broker": "redis://127.0.0.1:1"}, {}, ("broker", "broker", Grade.ERROR)),
    ],
)
def test_lines_about_this_machine(
    answer: dict[str, str], patch: Patch, line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "bigbatch.db").touch()
    (tmp_path / "broker").mkdir()
    for name, value in patch.items():
        monkeypatch.setattr(f"scheduler.doctor.service_host.{name}", value)
    settings = Settings(
        home=tmp_path, slurm=False, **{name: value.format(tmp=tmp_path) for name, value in answer.items()}
    )
    assert line in lines(run_checks(settings, []))


@pytest.mark.parametrize("state", ["DOWN", "DRAIN", "INACTIVE", ""])
def test_lines_about_a_partition_that_is_not_up(state: str) -> None:
    answer = check_configuration(GOOD, [{**PARTITION, "State": state}])
    assert ("slurm", "partition gpu", Grade.WARNING) in lines(answer)


@pytest.mark.parametrize(
    "change",
    [
        {"SLURM_VERSION": ""},
        {"MinJobAge": "0"},
        {"PreemptType": "preempt/none"},
        {"PreemptParameters": "send_user_signal"},
        {"JobRequeue": "0"},
        {"SelectType": ""},
    ],
)
def test_lines_about_a_configuration_that_is_well(change: dict[str, str]) -> None:
    partitions = [PARTITION, {**PARTITION, "PreemptMode": "OFF"}]
    assert {grade for *_, grade in lines(check_configuration({**GOOD, **change}, partitions))} == {Grade.OK}


@pytest.mark.parametrize("has_sbatch", [True, False])
def test_lines_about_a_slurm_that_is_not_used(
    play: Play, has_sbatch: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play("sbatch", "true")
    if not has_sbatch:
        monkeypatch.setenv("PATH", str(tmp_path))
    assert ("slurm", "slurm", Grade.NOTE) in lines(run_checks(Settings(home=tmp_path, slurm=False), []))


def hang() -> None:
    raise subprocess.TimeoutExpired("python", 180.0)


@pytest.mark.parametrize("slurm", [True, False])
@pytest.mark.parametrize(
    ("answer", "grade", "words"),
    [
        ({"version": "2.7", "gpus": 1, "binds_stores": True}, Grade.OK, "2.7, 1 GPU"),
        ({"version": "1.9", "gpus": 0, "binds_stores": False}, Grade.NOTE, "stores listen on every address"),
        ({"error": "ModuleNotFoundError: No module named 'torch'"}, Grade.NOTE, "No module"),
        (None, Grade.ERROR, "took more than 180 s"),
    ],
)
def test_lines_about_the_torch_of_local_runs(
    answer: Any, grade: Grade, words: str, slurm: bool, play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play("scontrol", "exit 1")
    monkeypatch.setattr("scheduler.doctor.torch.probe_here", (lambda: answer) if answer else hang)
    came = list(run_checks(Settings(home=tmp_path, slurm=slurm), ["--no-job"]))
    (check,) = [check for check in came if check.area == "this machine"]
    assert (check.name, check.grade, words in check.found) == ("torch", grade, True)
    assert ("this machine", "torch", grade) in lines(came)


def test_a_service_without_local_runs_says_nothing_of_its_own_torch(tmp_path: Path) -> None:
    came = run_checks(Settings(home=tmp_path, slurm=False, local=False), [])
    assert "this machine" not in {check.area for check in came}


@pytest.mark.parametrize(
    ("absent", "plays", "patch", "line"),
    [
        ("sbatch", {}, {}, ("commands", Grade.ERROR)),
        ("sacct", {}, {}, ("commands", Grade.NOTE)),
        ("sinfo", {}, {}, ("commands", Grade.NOTE)),
        ("sacctmgr", {}, {}, ("commands", Grade.NOTE)),
        ("", {}, {}, ("commands", Grade.OK)),
        ("", {}, {}, ("controller", Grade.OK)),
        ("", {}, {"SLOW_ANSWER_S": -1.0}, ("controller", Grade.WARNING)),
        ("", {"scontrol": "exit 1"}, {}, ("controller", Grade.ERROR)),
        ("", {"sacct": "true"}, {}, ("sacct", Grade.OK)),
        ("", {"sacct": "exit 1"}, {}, ("sacct", Grade.WARNING)),
        ("", {"sacctmgr": 'echo "$(id -un)|40"'}, {}, ("MaxSubmitJobs", Grade.OK)),
        ("", {"sacctmgr": 'echo "$(id -un)|"'}, {}, ("MaxSubmitJobs", Grade.OK)),
        ("", {"sacctmgr": "exit 1"}, {}, ("MaxSubmitJobs", Grade.OK)),
    ],
)
def test_lines_about_slurm(
    absent: str,
    plays: dict[str, str],
    patch: Patch,
    line: tuple[str, Grade],
    play: Play,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    play("scontrol", f'case "$*" in *config) printf "{CONFIG}";; *) echo "PartitionName=gpu State=UP";; esac')
    for command, script in plays.items():
        play(command, script)
    for name, value in patch.items():
        monkeypatch.setattr(f"scheduler.doctor.slurm.{name}", value)
    found = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == absent else found(name))
    assert ("slurm", *line) in lines(check_slurm(Commands(UnlimitedRate())))


@pytest.mark.parametrize(
    ("seen", "patch", "line"),
    [
        *(({}, {}, (name, Grade.OK)) for name in ("job", "folder", "python", "delay", "clock", "torch")),
        ({"asked": "another"}, {}, ("folder", Grade.ERROR)),
        ({}, {"os.getuid": lambda: -1}, ("folder", Grade.WARNING)),
        ({"versions": '{"bigbatch": "0.0", "python": "3.11.2"}'}, {}, ("python", Grade.WARNING)),
        ({}, {"SLOW_S": -1.0}, ("delay", Grade.WARNING)),
        ({}, {"SLOW_S": -1.0, "MAX_DELAY_S": -1.0}, ("delay", Grade.ERROR)),
        ({"pong": ""}, {"ANSWER_S": 0.1}, ("delay", Grade.ERROR)),
        ({"pong": "0"}, {}, ("clock", Grade.WARNING)),
        ({"torch": ""}, {"ANSWER_S": 0.1}, ("torch", Grade.ERROR)),
        ({"torch": '{"error": "ImportError: libcudart"}'}, {}, ("torch", Grade.ERROR)),
        ({"torch": '{"version": "1.9", "gpus": 0, "binds_stores": false}'}, {}, ("torch", Grade.NOTE)),
    ],
)
def test_lines_of_a_job_that_runs(
    seen: dict[str, str],
    patch: Patch,
    line: tuple[str, Grade],
    play: Play,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    play("sbatch", SBATCH.format(**{**SEEN, **seen}))
    for name, value in patch.items():
        monkeypatch.setattr(f"scheduler.doctor.compute_node.{name}", value)
    answer = check_compute_node(Settings(home=tmp_path), Commands(UnlimitedRate()), partition=None, wait_s=60.0)
    assert ("compute node", *line) in lines(answer)


TAKEN = 'echo "Submitted batch job 7"'


@pytest.mark.parametrize(
    ("plays", "line"),
    [
        ({"sbatch": 'echo "error: Invalid account" >&2; exit 1'}, ("job", Grade.ERROR)),
        ({"sbatch": "exit 1"}, ("job", Grade.ERROR)),
        ({"sbatch": TAKEN, "squeue": 'echo "PENDING|Priority"'}, ("job", Grade.WARNING)),
        ({"sbatch": f'{TAKEN}; echo no python > "$(dirname "$1")/out.log"'}, ("python", Grade.ERROR)),
        ({"sbatch": TAKEN, "squeue": 'echo "COMPLETED|None"'}, ("folder", Grade.ERROR)),
        ({"sbatch": TAKEN, "squeue": "true"}, ("folder", Grade.ERROR)),
    ],
)
def test_lines_of_a_job_that_does_not(
    plays: dict[str, str], line: tuple[str, Grade], play: Play, tmp_path: Path
) -> None:
    for command, script in plays.items():
        play(command, script)
    answer = check_compute_node(Settings(home=tmp_path), Commands(UnlimitedRate()), partition=None, wait_s=0.1)
    assert ("compute node", *line) in lines(answer)


def test_lines_of_a_job_whose_folder_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    answer = check_compute_node(Settings(home=tmp_path), Commands(UnlimitedRate()), partition=None, wait_s=0.1)
    assert lines(answer) == {("compute node", "folder", Grade.ERROR)}
