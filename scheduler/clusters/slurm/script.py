"""The batch script of a job or an array: submitit writes it, around a command of ours.

The job runs `python -m trainers FOLDER --attempt N`, not a pickle of submitit's: that gets its final name only after
sbatch has returned, so a worker that dies in between would strand the job. Slurm keeps a copy of the script itself.
Where runs share a job, it asks for so many times what one needs, and trainers/packed_runs.py begins a step for each of
them.
"""

import shlex
from collections.abc import Sequence
from typing import Any

from submitit.slurm.slurm import SlurmExecutor

from contract.folder.job_identity import warning_s
from contract.spec.checks.packing import together
from contract.spec.resources import Slurm as SlurmResources
from scheduler.clusters.cluster import Array, Job
from scheduler.clusters.slurm.job_ids import spell


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
    pack = job.pack if isinstance(job, Array) else None
    step = _step(job.spec.rule.survives_workers, need, "{}/out.log" if pack else log)
    executor = _Executor(folder=job.folder.path)
    executor.update_parameters(
        **_asked(together(need, pack) if pack else need),
        job_name=job.name,
        comment=job.name,
        signal_delay_s=warning_s(need.minutes),
        setup=list(setup) or None,
        stderr_to_stdout=True,
        wckey=None,  # submitit's default is refused where wckeys are enforced
        exclude=",".join(job.excluded) or None,
        additional_parameters=_additional(job, log),
        srun_args=step,
        use_srun=pack is None,
    )
    trains = f"{python} -P -u -m trainers {'{}' if pack else folder} --attempt {job.attempt}"
    carries = f"{python} -P -u -m trainers.packed_runs {folder} --attempt {job.attempt} --"
    own = shlex.join(["srun", "--unbuffered", *_own_part(need), *step])
    return str(executor._make_submission_file_text(f"{carries} {own} {trains}" if pack else trains, ""))


def _step(survives_workers: bool, need: SlurmResources, log: str) -> list[str]:
    """How srun begins the ranks of a run; later options win over submitit's."""
    return [
        # all ranks into one log, each line with its rank; one rank's end ends all or, by rule, none
        f"--output={log}",
        "--open-mode=append",
        "--label",
        f"--kill-on-bad-exit={int(not survives_workers)}",
        f"--cpus-per-task={need.rank_cpus}",  # srun does not take it over from sbatch
        # the ranks cut a many-core chip themselves, by its NUMA nodes, and read afterwards what they were bound to
        *(["--cpu-bind=none"] if need.many_core else []),
    ]


def _own_part(need: SlurmResources) -> list[str]:
    """What srun takes of the job for one of the runs in it."""
    ranks = need.node_ranks
    return [
        *("--exact", "--nodes=1", f"--ntasks={ranks}", f"--ntasks-per-node={ranks}"),
        # 0: where nothing is said of memory the runs share the job's, else the first would have all of it
        f"--mem={need.memory_gb}GB" if need.memory_gb else "--mem=0",
        *([f"--gres={need.gres}"] if need.gres else []),
    ]


def _places(job: Job | Array) -> tuple[str, str]:
    """The run's folder as the shell finds it, and its log as Slurm does; of a pack the task's own."""
    if isinstance(job, Array):
        log = "out.log" if job.pack is None else "job.log"
        return f"{shlex.quote(str(job.folder.path))}/$SLURM_ARRAY_TASK_ID", f"{job.folder.path}/%a/{log}"
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
