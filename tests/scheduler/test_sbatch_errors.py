"""What sbatch says when it hands nothing in: a refusal ends a run, a limit makes it wait, and all else is doubt."""

import errno
from pathlib import Path

import pytest

from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from scheduler.clusters.cluster import Array, DoubtError, FullError, Job, Limits, RefusedError
from scheduler.clusters.slurm.cluster import Slurm
from tests.conftest import Experiment
from tests.scheduler.conftest import Play


@pytest.fixture
def job(tmp_path: Path, experiment: Experiment) -> Job:
    spec = experiment(resources={"kind": "slurm", "partition": "knl"}).base
    folder = RunFolder.of(tmp_path, 1, "cafe")
    folder.prepare(spec)
    return Job("bigbatch-cafe-1", folder, 1, spec)


def test_a_refusal_is_in_slurms_words(play: Play, job: Job) -> None:
    play("sbatch", 'echo "sbatch: error: invalid partition specified: knl" >&2; exit 1')
    with pytest.raises(RefusedError, match=r"^invalid partition specified: knl$"):
        Slurm().submit(job)


POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"


@pytest.mark.parametrize(
    "words",
    [
        "Requested node configuration is not available",
        "User's group not permitted to use this partition",
        "Requested time limit is invalid (missing or exceeds some limit)",
        "Job size specification needs to be provided",
        "Unspecified error",
        # more than a limit allows that is none of submissions, in the sentence that Slurm has for them all
        f"QOSMaxCpuPerUserLimit\\nsbatch: error: Batch job submission failed: {POLICY}",
    ],
)
def test_what_slurm_will_take_on_no_day_is_refused(play: Play, job: Job, words: str) -> None:
    play("sbatch", f"printf '%b' \"sbatch: error: {words}\" >&2; exit 1")
    cluster = Slurm()
    with pytest.raises(RefusedError) as refusal:
        cluster.submit(job)
    assert not isinstance(refusal.value, FullError)
    assert cluster.may_submit(), "others need not wait for it"


@pytest.mark.parametrize(
    "script",
    [
        'echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2; exit 1',
        'echo "sbatch: error: Unable to contact slurm controller (connect failure)" >&2; exit 1',
        'echo "sbatch: error: Batch job submission failed: Invalid authentication credential" >&2; exit 1',
        'echo "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received" >&2; exit 1',
        'echo "sbatch: error: Batch job submission failed: Protocol authentication error" >&2; exit 1',
        'echo "sbatch: error: Batch job submission failed: I/O error writing script/environment to file" >&2; exit 1',
        'echo "sbatch: fatal: Could not establish a configuration source" >&2; exit 1',
        'echo "sbatch: error: Unable to open file /runs/1.sh" >&2; exit 1',
        'echo "sbatch: error: a sentence that nobody has heard of" >&2; exit 1',
        "exit 124",
        'echo "ok then"',
    ],
)
def test_an_outcome_that_is_not_known_is_doubt(play: Play, job: Job, script: str) -> None:
    play("sbatch", script)
    with pytest.raises(DoubtError):
        Slurm().submit(job)


@pytest.mark.parametrize(
    ("words", "tasks"),
    [
        (f"sbatch: error: AssocMaxSubmitJobLimit\\nsbatch: error: Batch job submission failed: {POLICY}", 50),
        (f"sbatch: error: Batch job submission failed: {POLICY}", 50),
        ("sbatch: error: Batch job submission failed: Invalid job array specification", 50),
        # half of it would not be taken either
        ("sbatch: error: System submissions disabled", 1001),
        ("sbatch: error: Required node not available (down, drained or reserved)", 1001),
        (f"sbatch: error: AssocGrpCPUMinutesLimit\\nsbatch: error: Batch job submission failed: {POLICY}", 1001),
    ],
)
def test_a_limit_that_is_reached_fails_no_run(play: Play, job: Job, words: str, tasks: int) -> None:
    play("sbatch", f"printf '%b' \"{words}\" >&2; exit 1")
    play("scontrol", "echo MaxArraySize = 1001")
    cluster = Slurm()
    assert (cluster.limits(), cluster.may_submit()) == (Limits(tasks=1001), True)
    folder = ArrayFolder.of(job.folder.path, job.name)
    folder.prepare({})
    with pytest.raises(FullError):
        cluster.submit(Array(job.name, folder, 1, job.spec, range(100)))
    assert (cluster.limits(), cluster.may_submit()) == (Limits(tasks=tasks), False)


@pytest.mark.parametrize(("in_the_way", "raised"), [(False, FullError), (True, RefusedError)])
def test_a_script_that_cannot_be_written_waits_unless_something_is_in_its_way(
    job: Job, monkeypatch: pytest.MonkeyPatch, *, in_the_way: bool, raised: type[Exception]
) -> None:
    """Forces the fault: the file server is away, or a file lies where the folder should be."""

    def away(*_: object) -> None:
        raise OSError(errno.EISDIR if in_the_way else errno.ESTALE, "out of order")

    monkeypatch.setattr(Path, "write_text", away)
    cluster = Slurm()
    with pytest.raises(RefusedError, match="cannot be written") as refusal:
        cluster.submit(job)
    assert (type(refusal.value), cluster.may_submit()) == (raised, True)
