"""The doctor: what it makes of a site's configuration, and its tiny job, carried out by a stand-in for sbatch."""

import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from sqlalchemy import Engine, create_engine, update

from contract.api.site_check import Check, Grade
from contract.settings import Settings
from scheduler.clusters.rate_limit import CALLS_PER_MINUTE, RESERVES, SHARED, Priority, UnlimitedRate
from scheduler.clusters.shared_rate_limit import SharedRateLimit
from scheduler.clusters.slurm.commands import Commands
from scheduler.doctor.compute_node import check_compute_node
from scheduler.doctor.configuration import check_configuration
from scheduler.doctor.examine import run_checks
from scheduler.doctor.service_host import check_owners
from scheduler.doctor.slurm import check_slurm
from scheduler.doctor.waiting_rate_limit import NOT_COUNTED, WAIT_ENDED, WAITING, WaitingRateLimit
from store import rate_limit
from store.session import snapshot, transaction
from store.tables.clusters import CallSlot
from tests.testing.clusters import Play
from tests.testing.slurm import GOOD, PARTITION, URGENT

pytestmark = pytest.mark.usefixtures("imported_torch")

# sbatch that carries the script out at once on this machine, and srun that leaves its own options away
SBATCH = 'echo "Submitted batch job 7"; bash "$1" > /dev/null 2>&1 &'
SRUN = 'while [ "${1#--}" != "$1" ]; do shift; done; exec "$@"'


def checks(settings: Settings, *, wait_s: float = 60.0) -> dict[str, Check]:
    return {
        check.name: check
        for check in check_compute_node(settings, Commands(UnlimitedRate()), partition=None, wait_s=wait_s)
    }


def test_a_good_site_has_nothing_to_set() -> None:
    answer = list(check_configuration(GOOD, [PARTITION, URGENT]))
    assert {check.grade for check in answer} == {Grade.OK}
    assert not any(check.advice for check in answer)


@pytest.mark.parametrize(
    ("change", "name", "grade", "advice"),
    [
        ({"SLURM_VERSION": "19.05.2"}, "version", Grade.WARNING, "20.11"),
        ({"AccountingStorageType": "accounting_storage/none"}, "accounting", Grade.NOTE, "slurmdbd"),
        ({"MinJobAge": "20 sec"}, "MinJobAge", Grade.NOTE, "MinJobAge=300"),
        ({"MinJobAge": "2", "AccountingStorageType": ""}, "MinJobAge", Grade.WARNING, "MinJobAge=300"),
        ({"MaxArraySize": "0"}, "MaxArraySize", Grade.WARNING, "MaxArraySize=1001"),
        ({"PreemptMode": "SUSPEND,GANG"}, "preemption", Grade.WARNING, "REQUEUE"),
        ({"KillWait": "5 sec"}, "partition gpu", Grade.WARNING, "KillWait=30"),
        ({"SelectType": "select/linear"}, "SelectType", Grade.NOTE, "cons_tres"),
        ({"ProctrackType": "proctrack/linuxproc"}, "ProctrackType", Grade.NOTE, "cgroup"),
    ],
)
def test_each_setting_that_hurts_runs_is_named_with_what_to_set(
    change: dict[str, str], name: str, grade: Grade, advice: str
) -> None:
    (check,) = [check for check in check_configuration({**GOOD, **change}, [PARTITION, URGENT]) if check.name == name]
    assert check.grade is grade
    assert advice
    assert advice in check.advice
    assert check.means


def test_a_slurm_that_forgets_no_job_has_nothing_to_set() -> None:
    answer = check_configuration({**GOOD, "MinJobAge": "0 sec"}, [PARTITION])
    assert {check.grade for check in answer} == {Grade.OK}


def test_a_grace_time_does_as_well_as_a_long_kill_wait() -> None:
    answer = check_configuration({**GOOD, "KillWait": "5 sec"}, [{**PARTITION, "GraceTime": "00:01:00"}, URGENT])
    assert {check.grade for check in answer} == {Grade.OK}


@pytest.mark.parametrize(
    "partitions",
    [
        [PARTITION],
        [PARTITION, {**URGENT, "PriorityTier": "1"}],
        [{**PARTITION, "Nodes": "gpu[1-4]"}, {**URGENT, "Nodes": "knl[1-2]"}],
        [{**PARTITION, "PreemptMode": "OFF"}, URGENT],
    ],
    ids=["one partition", "equal tiers", "other nodes", "switched off"],
)
@pytest.mark.parametrize("mode", ["REQUEUE", "SUSPEND,GANG"])
def test_no_preemption_is_warned_of_where_nothing_preempts(partitions: list[dict[str, str]], mode: str) -> None:
    answer = list(check_configuration({**GOOD, "KillWait": "5 sec", "PreemptMode": mode}, partitions))
    assert {check.grade for check in answer} == {Grade.OK}
    shown = {check.name: check.means for check in answer}
    assert shown["partition gpu"] == "runs can start here and are not preempted"
    assert shown["preemption"] == "no partition has jobs that another partition preempts"


@pytest.mark.parametrize(
    ("change", "nodes"),
    [({}, {}), ({"PreemptType": "preempt/qos"}, {"PriorityTier": "10"}), ({}, {"Nodes": "gpu[2-3]"})],
    ids=["higher tier", "qos", "shared nodes"],
)
def test_a_preemption_that_can_happen_is_warned_of(change: dict[str, str], nodes: dict[str, str]) -> None:
    partitions = [{**PARTITION, "Nodes": "gpu[1-4]", **nodes}, {**URGENT, **nodes}]
    answer = check_configuration({**GOOD, "KillWait": "5 sec", **change}, partitions)
    assert next(check for check in answer if check.name == "partition gpu").grade is Grade.WARNING


def test_a_controller_that_does_not_answer_is_an_error(play: Play) -> None:
    play("scontrol", 'echo "slurm_load_ctl_conf error: Unable to contact slurm controller" >&2; exit 1')
    *_, last = check_slurm(Commands(UnlimitedRate()))
    assert (last.name, last.grade) == ("controller", Grade.ERROR)
    assert "Unable to contact slurm controller" in last.found


@pytest.fixture
def answering(play: Play) -> None:
    config = "AccountingStorageType = accounting_storage/slurmdbd\\nMaxArraySize = 5\\nMaxJobCount = 10000\\n"
    play("scontrol", f'case "$*" in *config) printf "{config}";; *) echo "PartitionName=gpu State=UP";; esac')
    play("sacct", "true")
    play("sacctmgr", 'echo "$(id -un)|40"')


@pytest.mark.usefixtures("answering")
def test_its_calls_are_counted_and_taken_from_the_budget(sqlite_engine: Engine, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, slurm=True, database=str(sqlite_engine.url))
    answer = {check.name: check.found for check in run_checks(settings, ["--no-job"])}
    assert answer["MaxSubmitJobs"] == "40"
    with snapshot(sqlite_engine) as db:
        counted = {(row.command, row.outcome): row.count for row in rate_limit.call_counts(db)}
        used = rate_limit.used_slots(db)
    assert counted == {("scontrol", "ok"): 2, ("sacct", "ok"): 1, ("sacctmgr", "ok"): 1}
    assert used == {"slurm": (4, CALLS_PER_MINUTE)}


@pytest.mark.ring("all")
def test_it_waits_for_a_call_that_is_free_and_says_so(
    sqlite_engine: Engine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the scarcity: every call of the minute is spent, the first comes free in six seconds, then none."""
    budget = SharedRateLimit(sqlite_engine, "slurm")
    budget.count_free(Priority.FOLLOW_UP)
    with transaction(sqlite_engine) as db:
        db.execute(update(CallSlot).values(at=time.time()))
        db.execute(
            update(CallSlot)
            .where(CallSlot.slot == RESERVES[Priority.FOLLOW_UP].slots[0])
            .values(at=(spent := time.time() - 54.0))
        )
    rate_limit_ = WaitingRateLimit(budget)
    assert rate_limit_.acquire(Priority.FOLLOW_UP)
    assert spent + 60.0 <= time.time() < spent + 90.0
    assert capsys.readouterr().err == f"{WAITING}\n"
    monkeypatch.setattr("scheduler.doctor.waiting_rate_limit.WAIT_S", 0.0)
    assert not rate_limit_.acquire(Priority.FOLLOW_UP)
    assert capsys.readouterr().err == f"{WAITING}\n{WAIT_ENDED}\n"


@pytest.mark.usefixtures("answering")
@pytest.mark.parametrize("free", range(5))
def test_without_a_free_call_it_calls_nothing_and_says_what_to_do(
    sqlite_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, play: Play, free: int
) -> None:
    """Forces the scarcity: of the minute's calls `free` are left, and the doctor needs more."""
    monkeypatch.setattr("scheduler.doctor.waiting_rate_limit.WAIT_S", 0.0)
    play("sbatch", f"touch {tmp_path}/submitted")
    SharedRateLimit(sqlite_engine, "slurm").count_free(Priority.FOLLOW_UP)
    usable = [*RESERVES[Priority.FOLLOW_UP].slots, *SHARED][:free]
    with transaction(sqlite_engine) as db:
        db.execute(update(CallSlot).where(CallSlot.slot.not_in(usable)).values(at=time.time()))
    settings = Settings(home=tmp_path, slurm=True, database=str(sqlite_engine.url))
    *_, last = run_checks(settings, [])
    assert (last.name, last.grade) == ("rate limit", Grade.WARNING)
    assert "was not called: the rate limit of Slurm commands is reached" in last.found
    assert "bigbatch doctor again" in last.advice
    with snapshot(sqlite_engine) as db:
        assert sum(row.count for row in rate_limit.call_counts(db)) == free
    assert not (tmp_path / "submitted").exists()
    assert not list((tmp_path / "runs").glob("doctor-*"))


def test_without_tables_it_calls_without_asking(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rate_limit_ = WaitingRateLimit(SharedRateLimit(create_engine(f"sqlite:///{tmp_path / 'empty.db'}"), "slurm"))
    assert all(rate_limit_.acquire(Priority.FOLLOW_UP) for _ in range(CALLS_PER_MINUTE + 1))
    rate_limit_.record("squeue", "ok", 0.1)
    assert capsys.readouterr().err == f"{NOT_COUNTED}\n"


@pytest.mark.ring("all")
def test_the_tiny_job_sees_the_folder_keeps_to_claims_and_tells_its_clock(play: Play, tmp_path: Path) -> None:
    play("sbatch", SBATCH)
    play("srun", SRUN)
    answer = checks(Settings(home=tmp_path))
    assert {name: check.grade for name, check in answer.items()} == dict.fromkeys(
        ("job", "folder", "python", "delay", "clock", "torch"), Grade.OK
    ), answer
    assert sys.executable in answer["python"].found
    assert not list((tmp_path / "runs").iterdir())


def test_a_python_that_is_not_there_is_named_with_what_the_job_printed(play: Play, tmp_path: Path) -> None:
    play("sbatch", 'echo "Submitted batch job 7"; bash "$1" > "$(dirname "$1")/out.log" 2>&1; true')
    play("srun", SRUN)
    play("squeue", "true")
    answer = checks(Settings(home=tmp_path, slurm_python="/no/such/python"), wait_s=0.5)
    assert answer["python"].grade is Grade.ERROR
    assert "/no/such/python" in answer["python"].found
    assert "BIGBATCH_SLURM_PYTHON" in answer["python"].advice


def test_a_job_that_only_waits_is_a_warning_with_slurm_s_reason(play: Play, tmp_path: Path) -> None:
    play("sbatch", 'echo "Submitted batch job 7"')
    play("squeue", 'echo "PENDING|Priority"')
    answer = checks(Settings(home=tmp_path), wait_s=0.2)
    assert (answer["job"].grade, "Priority" in answer["job"].found) == (Grade.WARNING, True)


def test_a_folder_that_the_nodes_do_not_share_is_an_error(play: Play, tmp_path: Path) -> None:
    """The job ends, and nothing of it is seen here."""
    play("sbatch", 'echo "Submitted batch job 7"')
    play("squeue", 'echo "COMPLETED|None"')
    answer = checks(Settings(home=tmp_path), wait_s=0.2)
    assert answer["folder"].grade is Grade.ERROR
    assert "BIGBATCH_RUNS" in answer["folder"].advice


def test_without_slurm_it_says_so_and_checks_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    answer = {(check.area, check.name): check for check in run_checks(Settings(home=tmp_path), [])}
    assert answer["slurm", "slurm"].grade is Grade.NOTE
    assert answer["folder", "runs"].grade is Grade.OK
    assert answer["database", "database"].found.endswith("is not there yet")
    assert not (tmp_path / "bigbatch.db").exists()
    assert answer["broker", "broker"].grade is Grade.OK


@pytest.mark.ring("all")
def test_a_broker_and_a_database_that_do_not_answer_are_errors(tmp_path: Path) -> None:
    nobody = "127.0.0.1:1"
    settings = Settings(
        home=tmp_path, slurm=False, broker=f"redis://{nobody}", database=f"postgresql://someone:secret@{nobody}/x"
    )
    answer = {check.area: check for check in run_checks(settings, []) if check.area in ("broker", "database")}
    assert {check.grade for check in answer.values()} == {Grade.ERROR}
    assert "secret" not in answer["database"].found


class Disk(NamedTuple):
    total: int
    used: int
    free: int


def test_too_little_space_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk with 10 MB left."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(10**12, 10**12 - 10**7, 10**7))
    (check, *_) = [check for check in run_checks(Settings(home=tmp_path, slurm=False), []) if check.area == "space"]
    assert check.grade is Grade.ERROR


@pytest.mark.parametrize("home", ["a b", "it's"])
def test_a_home_with_a_space_or_a_quote_is_no_fault_of_slurm(
    tmp_path: Path, play: Play, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    """sbatch splits the options of a script at spaces, as a shell does."""
    play("sbatch", f'grep "^#SBATCH" "$1" > {tmp_path}/options; exit 1')
    settings = Settings(runs=tmp_path / home)
    list(check_compute_node(settings, Commands(UnlimitedRate()), partition="big", wait_s=1.0))
    options = [shlex.split(line.removeprefix("#SBATCH ")) for line in (tmp_path / "options").read_text().splitlines()]
    assert {len(option) for option in options} == {1}
    (output,) = [option for (option,) in options if option.startswith("--output=")]
    assert output.startswith(f"--output={tmp_path}/{home}/doctor-")


def test_folders_into_which_others_can_put_files_are_an_error(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", runs=tmp_path / "runs", slurm=False)
    (tmp_path / "runs").mkdir()
    assert check_owners(settings).grade is Grade.OK
    (tmp_path / "runs").chmod(0o777)
    check = check_owners(settings)
    assert (check.grade, check.found) == (
        Grade.ERROR,
        f"{tmp_path}/runs can be written by every user: run chmod o-w on it",
    )
    assert "set BIGBATCH_RUNS to a folder of yours" in check.advice
