"""Submission to Slurm, its commands played by scripts put first on PATH: what it is given, and what an answer means."""

from pathlib import Path

import pytest

from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from scheduler.clusters.cluster import Array, BusyError, DoubtError, Held, Job, Limits
from scheduler.clusters.rate_limit import OpenGate, Urgency
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.clusters.slurm.job_ids import gather, hosts_in
from tests.conftest import Experiment
from tests.scheduler.conftest import Play


@pytest.fixture
def job(tmp_path: Path, experiment: Experiment) -> Job:
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
    spec: RunSpec = experiment(resources=need).base
    folder = RunFolder.of(tmp_path, 1, "cafe")
    folder.prepare(spec)
    return Job("bigbatch-cafe-1", folder, 1, spec)


def test_the_script_asks_for_all_that_the_spec_asks_for(job: Job) -> None:
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


def test_what_sbatch_is_given_is_what_the_preview_shows(play: Play, job: Job, tmp_path: Path) -> None:
    play("sbatch", f'cp "$1" {tmp_path}/given; echo "Submitted batch job 42"')
    cluster = Slurm()
    assert cluster.submit(job) == "42"
    assert (tmp_path / "given").read_text() == cluster.script(job)


def test_no_secret_of_the_service_goes_with_a_job(
    play: Play, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIGBATCH_TOKEN", "secret")
    monkeypatch.setenv("BIGBATCH_CACHE", "/scratch")
    monkeypatch.setenv("SITE", "kept")
    monkeypatch.setenv("SBATCH_PARTITION", "would overrule the spec's")
    monkeypatch.setenv("SLURM_CONF", "/lab/slurm.conf")
    play("sbatch", f'env > {tmp_path}/environment; echo "Submitted batch job 42"')
    Slurm().submit(job)
    given = (tmp_path / "environment").read_text()
    assert [line for line in given.splitlines() if line.startswith("BIGBATCH_")] == ["BIGBATCH_CACHE=/scratch"]
    assert "SBATCH_" not in given
    assert "SITE=kept" in given
    assert "SLURM_CONF=/lab/slurm.conf" in given


def test_an_array_has_a_folder_for_each_task_and_a_cap(play: Play, job: Job, tmp_path: Path) -> None:
    folders = {task: RunFolder.of(tmp_path, task, "beef") for task in (0, 1, 2, 5)}
    for folder in folders.values():
        folder.prepare(job.spec)
    array = Array(job.name, ArrayFolder.of(tmp_path, job.name), 3, job.spec, list(folders), 2, ["knl7", "knl9"])
    array.folder.prepare(folders)
    play("sbatch", f'cp "$1" {tmp_path}/given; echo "Submitted batch job 42"')
    assert Slurm("/shared/python").submit(array) == "42"
    script = (tmp_path / "given").read_text()
    place = array.folder.path
    for line in (
        "#SBATCH --array=0-2,5%2",
        "#SBATCH --exclude=knl7,knl9",
        f"#SBATCH --output={place}/%a/out.log",
        f"#SBATCH --comment={job.name}",
    ):
        assert line in script.splitlines()
    (srun,) = [line for line in script.splitlines() if line.startswith("srun")]
    assert srun.endswith(f"/shared/python -P -u -m trainers {place}/$SLURM_ARRAY_TASK_ID --attempt 3")
    assert RunFolder(place / "5").read_spec() == job.spec


@pytest.mark.parametrize(
    ("told", "hosts"),
    [
        ("knl1", ["knl1"]),
        ("gpu[01-03,7],knl2", ["gpu01", "gpu02", "gpu03", "gpu7", "knl2"]),
        ("a[1-2]-b3", ["a1-b3", "a2-b3"]),
        *((word, []) for word in ("", "None assigned", "(null)", "gpu[1-", "gpu[a-b]")),
    ],
)
def test_hosts_in_the_words_of_slurm(told: str, hosts: list[str]) -> None:
    assert hosts_in(told) == hosts


def test_many_tasks_are_cancelled_in_one_word(play: Play, tmp_path: Path) -> None:
    assert gather(["7", "8_1", "8_2", "8_3", "8_9", "9_0"]) == ["7", "8_[1-3,9]", "9_[0]"]
    play("scancel", f'echo "$@" >> {tmp_path}/calls')
    play("squeue", 'echo "8|mine"')
    Slurm().cancel([Held("8_1", "mine"), Held("8_2", "mine")])
    Slurm().cancel([Held("8_1", "mine")], force=True)
    assert (tmp_path / "calls").read_text() == "8_[1-2]\n--signal=KILL --full 8_[1]\n"


def test_a_job_that_was_given_the_id_of_an_old_one_is_not_cancelled(play: Play, tmp_path: Path) -> None:
    """Forces the fault: a controller that died gives its last ids again, and what had one of them is to end."""
    play("scancel", f'echo "$@" >> {tmp_path}/calls')
    play("squeue", 'echo "7|another"; echo "8|mine"')
    told = Slurm().cancel([Held("7", "mine"), Held("8", "mine"), Held("9", "mine")])
    assert told == [Held("8", "mine")]
    assert (tmp_path / "calls").read_text() == "8\n"


def test_a_job_that_has_ended_need_not_be_cancelled(play: Play) -> None:
    play("scancel", 'echo "scancel: error: Kill job error on job id 7: Invalid job id specified" >&2; exit 1')
    play("squeue", 'echo "7|mine"')
    Slurm().cancel([Held("7", "mine")])
    play("scancel", 'echo "scancel: error: Kill job error on job id 7: Access/permission denied" >&2; exit 1')
    with pytest.raises(DoubtError, match="Access/permission denied"):
        Slurm().cancel([Held("7", "mine")])


def test_limits_are_read_once_and_a_slurm_without_accounting_has_its_own(play: Play, tmp_path: Path) -> None:
    config = "MaxArraySize = 5\\nMaxJobCount = 10000\\nMinJobAge = 60 sec\\n"
    play("scontrol", f"echo x >> {tmp_path}/calls; printf '{config}'")
    cluster = Slurm()
    assert cluster.limits() == cluster.limits() == Limits(tasks=5, jobs=10000, remembers_s=60)
    assert (tmp_path / "calls").read_text() == "x\n"
    play("sacctmgr", 'printf "other|3\\n$(id -un)|40\\n"')
    assert Slurm().limits() == Limits(tasks=5, jobs=40, remembers_s=60)


def test_a_stop_that_waits_for_two_calls_gets_them_before_submissions_do(play: Play) -> None:
    """Forces the race: submissions wait as well, and would take each call as it comes free."""

    class Scarce(OpenGate):
        left = 1

        def free(self, urgency: Urgency) -> int:
            return self.left

    gate = Scarce()
    cluster = Slurm(gate=gate)
    assert cluster.may_submit()
    with pytest.raises(BusyError, match="scancel has to wait"):
        cluster.cancel([Held("7", "mine")])
    for gate.left in (1, 2):
        assert not cluster.may_submit()
    gate.left = 3
    assert cluster.may_submit()
    assert not cluster.may_submit(besides=1)


def test_when_the_minute_s_calls_are_spent_nothing_is_called(play: Play, job: Job, tmp_path: Path) -> None:
    class Shut(OpenGate):
        def enter(self, urgency: Urgency) -> bool:
            return False

    play("sbatch", f"touch {tmp_path}/called")
    with pytest.raises(BusyError, match="this minute's calls of Slurm are spent"):
        Slurm(gate=Shut()).submit(job)
    assert not (tmp_path / "called").exists()
