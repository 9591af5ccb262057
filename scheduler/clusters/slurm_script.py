"""The batch script of a job or an array: submitit writes it, around a command of ours.

The job runs `python -m trainers FOLDER --attempt N`, not a pickle of submitit's: that gets its final name only after
sbatch has returned, so a worker that dies in between would strand the job. Slurm keeps a copy of the script itself.
"""

import shlex
from collections.abc import Sequence
from typing import Any

from submitit.slurm.slurm import SlurmExecutor

from contract.job import warning_s
from contract.resources import Slurm as SlurmResources
from scheduler.clusters.cluster import Array, Job
from scheduler.clusters.slurm_ids import spell


class _Executor(SlurmExecutor):
    """submitit's executor, where there may be no Slurm: a script can be shown anywhere."""

    @classmethod
    def affinity(cls) -> int:
        return 1


def script(job: Job | Array, *, python: str, setup: Sequence[str]) -> str:
    """The exact text that sbatch is given."""
    need = job.spec.resources
    assert isinstance(need, SlurmResources), need
    folder, log = _places(job)
    executor = _Executor(folder=job.folder.path)
    executor.update_parameters(
        **_asked(need),
        job_name=job.name,
        comment=job.name,
        signal_delay_s=warning_s(need.minutes),
        setup=list(setup) or None,
        stderr_to_stdout=True,
        wckey=None,  # submitit's default is refused where wckeys are enforced
        exclude=",".join(job.excluded) or None,
        additional_parameters=_additional(job, log),
        # later options win: all ranks into one log, each line with its rank; one rank's end ends all or, by rule, none
        srun_args=[
            f"--output={log}",
            "--open-mode=append",
            "--label",
            f"--kill-on-bad-exit={int(not job.spec.rule.survives_workers)}",
            f"--cpus-per-task={need.rank_cpus}",  # srun does not take it over from sbatch
            # the ranks cut a many-core chip themselves, by its NUMA nodes, and read afterwards what they were bound to
            *(["--cpu-bind=none"] if need.many_core else []),
        ],
    )
    command = f"{python} -P -u -m trainers {folder} --attempt {job.attempt}"
    return str(executor._make_submission_file_text(command, ""))


def _places(job: Job | Array) -> tuple[str, str]:
    """The run's folder as the shell finds it, and its log as Slurm does."""
    if isinstance(job, Array):
        return f"{shlex.quote(str(job.folder.path))}/$SLURM_ARRAY_TASK_ID", f"{job.folder.path}/%a/out.log"
    return shlex.quote(str(job.folder.path)), str(job.folder.log)


def _additional(job: Job | Array, log: str) -> dict[str, Any]:
    # the scheduler submits again, the node never does
    options: dict[str, Any] = {"output": log, "no-requeue": True}
    if isinstance(job, Array):
        options["array"] = spell(job.tasks) + (f"%{job.parallel}" if job.parallel else "")
    return options


def _asked(need: SlurmResources) -> dict[str, object]:
    """The resources in submitit's words."""
    return {
        "partition": need.partition,
        "nodes": need.nodes,
        "ntasks_per_node": need.node_ranks,
        "cpus_per_task": need.rank_cpus,
        "exclusive": True if need.many_core else None,  # nobody else's processes on cores that ranks are pinned to
        "gres": need.gres,
        "constraint": need.features,
        "time": need.minutes,
        "mem": f"{need.memory_gb}GB" if need.memory_gb else None,
        "account": need.account,
        "qos": need.qos,
    }
