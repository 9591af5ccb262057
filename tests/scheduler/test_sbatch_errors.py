"""Error messages of sbatch: a refusal ends a run, a limit makes the run wait, and any other message is no answer."""

import errno
from pathlib import Path

import pytest

from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from scheduler.clusters.cluster import (
    ArrayRequest,
    ArrayTooLargeError,
    JobRequest,
    Limits,
    NoAnswerError,
    QueueFullError,
    RefusedError,
    ScriptNotWrittenError,
    SubmitLimitError,
)
from scheduler.clusters.slurm.cluster import Slurm
from tests.testing.clusters import Play
from tests.testing.specs import Experiment


@pytest.fixture
def job(tmp_path: Path, experiment: Experiment) -> JobRequest:
    spec = experiment(resources={"kind": "slurm", "partition": "knl"}).spec.base
    folder = RunFolder.of(tmp_path, 1, "cafe")
    folder.prepare(spec)
    return JobRequest("bigbatch-cafe-1", folder, 1, spec)


def test_a_refusal_has_slurms_own_message(play: Play, job: JobRequest) -> None:
    play("sbatch", 'echo "sbatch: error: invalid partition specified: knl" >&2; exit 1')
    with pytest.raises(RefusedError, match=r"^invalid partition specified: knl$"):
        Slurm().submit(job)


@pytest.mark.parametrize(
    "message",
    [
        "sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.",
        "sbatch: error: --cpus-per-gpu is mutually exclusive with --cpus-per-task",
        "sbatch: error: Bad rlimit name: ZZ\\nsbatch: error: --propagate=ZZ is not valid.",
    ],
)
def test_a_contradiction_that_sbatch_itself_finds_is_a_refusal(play: Play, job: JobRequest, message: str) -> None:
    play("sbatch", f"printf '%b' \"{message}\" >&2; exit 1")
    with pytest.raises(RefusedError):
        Slurm().submit(job)


POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"


@pytest.mark.parametrize(
    "message",
    [
        "Requested node configuration is not available",
        "User's group not permitted to use this partition",
        "Requested time limit is invalid (missing or exceeds some limit)",
        "Job size specification needs to be provided",
        "Unspecified error",
        # a limit of one job, followed by the sentence that Slurm prints for all limits
        f"QOSMaxCpuPerUserLimit\\nsbatch: error: Batch job submission failed: {POLICY}",
    ],
)
def test_a_job_that_slurm_never_accepts_is_refused(play: Play, job: JobRequest, message: str) -> None:
    play("sbatch", f"printf '%b' \"sbatch: error: {message}\" >&2; exit 1")
    cluster = Slurm()
    with pytest.raises(RefusedError) as refusal:
        cluster.submit(job)
    assert not isinstance(refusal.value, QueueFullError)
    assert cluster.may_submit(), "other jobs may be submitted at once"


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
        'echo "sbatch: error: an unknown message" >&2; exit 1',
        "exit 124",
        'echo "ok then"',
    ],
)
def test_an_unknown_outcome_is_no_answer(play: Play, job: JobRequest, script: str) -> None:
    play("sbatch", script)
    with pytest.raises(NoAnswerError):
        Slurm().submit(job)


@pytest.mark.parametrize(
    ("message", "raised", "tasks"),
    [
        (
            f"sbatch: error: AssocMaxSubmitJobLimit\\nsbatch: error: Batch job submission failed: {POLICY}",
            SubmitLimitError,
            1001,
        ),
        (
            f"sbatch: error: QOSMaxSubmitJobPerUserLimit\\nsbatch: error: Batch job submission failed: {POLICY}",
            SubmitLimitError,
            1001,
        ),
        (f"sbatch: error: Batch job submission failed: {POLICY}", SubmitLimitError, 1001),
        ("sbatch: error: Batch job submission failed: Invalid job array specification", ArrayTooLargeError, 50),
        # the cluster would refuse half of the array as well
        ("sbatch: error: System submissions disabled", QueueFullError, 1001),
        ("sbatch: error: Required node not available (down, drained or reserved)", QueueFullError, 1001),
        (
            f"sbatch: error: AssocGrpCPUMinutesLimit\\nsbatch: error: Batch job submission failed: {POLICY}",
            QueueFullError,
            1001,
        ),
    ],
)
def test_a_limit_that_is_reached_fails_no_run(
    play: Play, job: JobRequest, message: str, raised: type[Exception], tasks: int
) -> None:
    play("sbatch", f"printf '%b' \"{message}\" >&2; exit 1")
    play("scontrol", "echo MaxArraySize = 1001")
    cluster = Slurm()
    assert (cluster.limits(), cluster.may_submit()) == (Limits(tasks=1001), True)
    folder = ArrayFolder.of(job.folder.path, job.name)
    folder.link_runs({})
    with pytest.raises(QueueFullError) as refusal:
        cluster.submit(ArrayRequest(job.name, folder, 1, job.spec, range(100)))
    assert (type(refusal.value), cluster.limits()) == (raised, Limits(tasks=tasks))


@pytest.mark.parametrize(("is_blocked", "raised"), [(False, ScriptNotWrittenError), (True, RefusedError)])
def test_a_script_that_cannot_be_written_waits_unless_a_file_blocks_its_folder(
    job: JobRequest, monkeypatch: pytest.MonkeyPatch, *, is_blocked: bool, raised: type[Exception]
) -> None:
    """Forces the fault: the file server is unreachable, or a file has the name of the folder."""

    def fail(*_: object, mode: int) -> None:
        raise OSError(errno.EISDIR if is_blocked else errno.ESTALE, "cannot write")

    monkeypatch.setattr("scheduler.clusters.slurm.cluster.write_atomic", fail)
    cluster = Slurm()
    with pytest.raises(raised, match="cannot be written"):
        cluster.submit(job)
    assert cluster.may_submit()
