"""Submission to Slurm and cancellation, with shell scripts instead of Slurm's commands."""

import os
from pathlib import Path

import pytest

from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from scheduler.clusters.cluster import ArrayRequest, JobHandle, JobRequest, Limits, NoAnswerError, RateLimitedError
from scheduler.clusters.rate_limit import Priority, UnlimitedRate
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.clusters.slurm.job_ids import merge_array_tasks, parse_hosts
from tests.testing.clusters import Play
from tests.testing.specs import Experiment


@pytest.fixture
def job(tmp_path: Path, experiment: Experiment) -> JobRequest:
    need = {
        "kind": "slurm",
        "partition": "knl",
        "nodes": 2,
        "ranks_per_node": 4,
        "constraint": "knl&quad",
        "gres": "gpu:4",
        "minutes": 30,
        "account": "lab",
        "qos": "high",
        "memory_gb": 64,
        "cpus_per_rank": 17,
    }
    spec: RunSpec = experiment(resources=need).spec.base
    folder = RunFolder.of(tmp_path, 1, "cafe")
    folder.prepare(spec)
    return JobRequest("bigbatch-cafe-1", folder, 1, spec)


def test_the_script_requests_all_resources_of_the_spec(job: JobRequest) -> None:
    script = Slurm("/shared/python", ["module load cuda"]).script(job)
    for line in (
        "#SBATCH --partition=knl",
        "#SBATCH --nodes=2",
        "#SBATCH --ntasks-per-node=4",
        "#SBATCH --cpus-per-task=17",
        "#SBATCH --constraint='knl&quad'",
        "#SBATCH --gres=gpu:4",
        "#SBATCH --time=30",
        "#SBATCH --signal=USR2@90",
        "#SBATCH --account=lab",
        "#SBATCH --qos=high",
        "#SBATCH --mem=64GB",
        "#SBATCH --no-requeue",
        "#SBATCH --job-name=bigbatch-cafe-1",
        "module load cuda",
    ):
        assert line in script.splitlines()
    (srun,) = [line for line in script.splitlines() if line.startswith("srun")]
    assert srun.endswith(f"/shared/python -P -u -m trainers {job.folder.path} --attempt 1")
    assert "--kill-on-bad-exit=1" in srun
    assert "wckey" not in script


def test_sbatch_gets_the_script_that_a_dry_run_shows(play: Play, job: JobRequest, tmp_path: Path) -> None:
    play("sbatch", f'cp "$1" {tmp_path}/submitted; echo "Submitted batch job 42"')
    cluster = Slurm()
    assert cluster.submit(job) == "42"
    assert (tmp_path / "submitted").read_text() == cluster.script(job)


def test_a_job_gets_no_secret_of_the_service(
    play: Play, job: JobRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BIGBATCH_TOKEN", "BIGBATCH_DATABASE", "bigbatch_broker", "BIGBATCH_LATER"):
        monkeypatch.setenv(name, "5ecret")
    monkeypatch.setenv("BIGBATCH_CACHE", "/scratch")
    monkeypatch.setenv("CLUSTER", "ours")
    monkeypatch.setenv("SBATCH_PARTITION", "would override the spec")
    monkeypatch.setenv("SLURM_CONF", "/lab/slurm.conf")
    play("sbatch", f'env > {tmp_path}/environment; echo "Submitted batch job 42"')
    Slurm().submit(job)
    environment = (tmp_path / "environment").read_text()
    lines = {line for line in environment.splitlines() if line.startswith("BIGBATCH_")}
    assert lines == {"BIGBATCH_CACHE=/scratch", f"BIGBATCH_LC_ALL={os.environ.get('LC_ALL', '')}"}
    assert "5ecret" not in environment
    assert "SBATCH_" not in environment
    assert "CLUSTER=ours" in environment
    assert "SLURM_CONF=/lab/slurm.conf" in environment


def test_a_job_gets_no_token_of_slurm(
    play: Play, job: JobRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JWT", "5ecret")
    # sbatch starts the script with its own environment, as slurmd does; the shell is the parent of the program
    play("srun", "tr '\\0' '\\n' < /proc/$PPID/environ; env")
    play("sbatch", f'bash "$1" > {tmp_path}/environment; test "$SLURM_JWT" = 5ecret && echo "Submitted batch job 42"')
    assert Slurm(setup=["export OMP_NUM_THREADS=3"]).submit(job) == "42", "sbatch itself has the token"
    environment = (tmp_path / "environment").read_text()
    assert "5ecret" not in environment
    assert "OMP_NUM_THREADS=3" in environment


def test_an_array_has_a_folder_for_each_task_and_a_cap(play: Play, job: JobRequest, tmp_path: Path) -> None:
    folders = {task: RunFolder.of(tmp_path, task, "beef") for task in (0, 1, 2, 5)}
    for folder in folders.values():
        folder.prepare(job.spec)
    array = ArrayRequest(job.name, ArrayFolder.of(tmp_path, job.name), 3, job.spec, list(folders), 2, ["knl7", "knl9"])
    array = array._replace(comment="bigbatch experiment 7, 4 runs from 40 to 43, attempt 3")
    array.folder.link_runs(folders)
    play("sbatch", f'cp "$1" {tmp_path}/submitted; echo "Submitted batch job 42"')
    assert Slurm("/shared/python").submit(array) == "42"
    script = (tmp_path / "submitted").read_text()
    path = array.folder.path
    for line in (
        "#SBATCH --array=0-2,5%2",
        "#SBATCH --exclude=knl7,knl9",
        f"#SBATCH --output={path}/%a/out.log",
        "#SBATCH --comment='bigbatch experiment 7, 4 runs from 40 to 43, attempt 3'",
    ):
        assert line in script.splitlines()
    (srun,) = [line for line in script.splitlines() if line.startswith("srun")]
    assert srun.endswith(f"/shared/python -P -u -m trainers {path}/$SLURM_ARRAY_TASK_ID --attempt 3")
    assert RunFolder(path / "5").read_spec() == job.spec


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("knl1", ["knl1"]),
        ("gpu[01-03,7],knl2", ["gpu01", "gpu02", "gpu03", "gpu7", "knl2"]),
        ("a[1-2]-b3", ["a1-b3", "a2-b3"]),
        *((word, []) for word in ("", "None assigned", "(null)", "gpu[1-", "gpu[a-b]")),
    ],
)
def test_slurms_lists_of_hosts_are_parsed(text: str, hosts: list[str]) -> None:
    assert parse_hosts(text) == hosts


def test_many_tasks_of_an_array_are_cancelled_by_one_id(play: Play, tmp_path: Path) -> None:
    assert merge_array_tasks(["7", "8_1", "8_2", "8_3", "8_9", "9_0"]) == ["7", "8_[1-3,9]", "9_[0]"]
    play("scancel", f'echo "$@" >> {tmp_path}/calls')
    play("squeue", 'echo "8|mine"')
    Slurm().cancel([JobHandle("8_1", "mine"), JobHandle("8_2", "mine")])
    Slurm().cancel([JobHandle("8_1", "mine")], force=True)
    assert (tmp_path / "calls").read_text() == "8_[1-2]\n--signal=KILL --full 8_[1]\n"


def test_a_job_that_reuses_an_id_is_not_cancelled(play: Play, tmp_path: Path) -> None:
    """Forces the fault: after a crash slurmctld reused the id of a job that is to be cancelled."""
    play("scancel", f'echo "$@" >> {tmp_path}/calls')
    play("squeue", 'echo "7|another"; echo "8|mine"')
    cancelled = Slurm().cancel([JobHandle("7", "mine"), JobHandle("8", "mine"), JobHandle("9", "mine")])
    assert cancelled == [JobHandle("8", "mine")]
    assert (tmp_path / "calls").read_text() == "8\n"


def test_the_cancellation_of_an_ended_job_is_no_error(play: Play) -> None:
    play("scancel", 'echo "scancel: error: Kill job error on job id 7: Invalid job id specified" >&2; exit 1')
    play("squeue", 'echo "7|mine"')
    Slurm().cancel([JobHandle("7", "mine")])
    play("scancel", 'echo "scancel: error: Kill job error on job id 7: Access/permission denied" >&2; exit 1')
    with pytest.raises(NoAnswerError, match="Access/permission denied"):
        Slurm().cancel([JobHandle("7", "mine")])


def test_limits_are_read_once_and_without_accounting_from_the_configuration_alone(play: Play, tmp_path: Path) -> None:
    config = "MaxArraySize = 5\\nMaxJobCount = 10000\\nMinJobAge = 60 sec\\n"
    play("scontrol", f"echo x >> {tmp_path}/calls; printf '{config}'")
    cluster = Slurm()
    assert cluster.limits() == cluster.limits() == Limits(tasks=5, jobs=10000, retention_s=60)
    assert (tmp_path / "calls").read_text() == "x\n"
    play("sacctmgr", 'printf "other|3\\n$(id -un)|40\\n"')
    assert Slurm().limits() == Limits(tasks=5, jobs=40, retention_s=60)


def test_a_cancellation_gets_its_two_calls_before_submissions_do(play: Play) -> None:
    """Forces the race: submissions wait as well, and would use each call as soon as one is free."""

    class FewCalls(UnlimitedRate):
        free = 1

        def count_free(self, priority: Priority) -> int:
            return self.free

        def count_shared(self) -> int:
            return self.free

    rate_limit = FewCalls()
    cluster = Slurm(rate_limit=rate_limit)
    assert cluster.may_submit()
    with pytest.raises(RateLimitedError, match="scancel was not called"):
        cluster.cancel([JobHandle("7", "mine")])
    for rate_limit.free in (1, 2):
        assert not cluster.may_submit()
    rate_limit.free = 3
    assert cluster.may_submit()
    assert not cluster.may_submit(besides=1)


def test_at_the_rate_limit_nothing_is_called(play: Play, job: JobRequest, tmp_path: Path) -> None:
    class NoCalls(UnlimitedRate):
        def acquire(self, priority: Priority) -> bool:
            return False

    play("sbatch", f"touch {tmp_path}/called")
    with pytest.raises(RateLimitedError, match="rate limit of Slurm commands is reached"):
        Slurm(rate_limit=NoCalls()).submit(job)
    assert not (tmp_path / "called").exists()
