"""The batch script of a job or an array: submitit writes the script around this project's command.

The job runs `python -m trainers FOLDER --attempt N` instead of a pickle of submitit's: submitit gives the pickle its
final name only after sbatch has returned, so a worker that dies in between would leave the job without its pickle.
Slurm stores a copy of the script itself. A job that several runs share requests the resources of all of them, and
trainers/packed_runs.py starts one srun step for each run.
"""

import re
import shlex
from collections.abc import Sequence
from typing import Any

from submitit.slurm.slurm import SlurmExecutor

from contract.folder.bounds import HOST_NAME
from contract.folder.job_identity import time_limit_warning_s
from contract.settings import SLURM_TOKEN
from contract.spec.checks.packing import combined_resources
from contract.spec.resources import Slurm as SlurmResources
from scheduler.clusters.cluster import ArrayRequest, JobRequest
from scheduler.clusters.slurm.job_ids import format_tasks

# sbatch copies its own environment into the job's; the program that replaces the shell has the token nowhere in /proc
_WITHOUT_SLURM_TOKEN = f'[ -z "${{{SLURM_TOKEN}-}}" ] || exec env -u {SLURM_TOKEN} "$BASH" "$0"'


class _Executor(SlurmExecutor):
    """submitit's executor without its check that Slurm is installed: a dry run prints scripts on any machine."""

    @classmethod
    def affinity(cls) -> int:
        return 1


def render_script(job: JobRequest | ArrayRequest, *, python: str, setup: Sequence[str]) -> str:
    """Return the exact text of the script that sbatch gets."""
    resources = job.spec.resources
    assert isinstance(resources, SlurmResources), resources
    folder, log = _folder_and_log(job)
    pack = job.pack if isinstance(job, ArrayRequest) else None
    # trainers/packed_runs.py replaces {} by each run's folder
    srun_options = _srun_options(job.spec.survives_workers, resources, "{}/out.log" if pack else log)
    executor = _Executor(folder=job.folder.path)
    executor.update_parameters(
        **_submitit_parameters(combined_resources(resources, pack) if pack else resources),
        job_name=job.name,
        comment=job.comment or job.name,
        signal_delay_s=time_limit_warning_s(resources.minutes),
        setup=[_WITHOUT_SLURM_TOKEN, *setup],
        stderr_to_stdout=True,
        wckey=None,  # clusters that enforce wckeys refuse submitit's default
        # names stored by an earlier version were not checked, and a comma or a line break would end the option
        exclude=",".join(host for host in job.excluded if re.fullmatch(HOST_NAME, host)) or None,
        additional_parameters=_additional_parameters(job, log),
        srun_args=srun_options,
        use_srun=pack is None,
    )
    command = f"{python} -P -u -m trainers {'{}' if pack else folder} --attempt {job.attempt}"
    if pack:
        step = shlex.join(["srun", "--unbuffered", *_step_resources(resources), *srun_options])
        command = f"{python} -P -u -m trainers.packed_runs {folder} --attempt {job.attempt} -- {step} {command}"
    return str(executor._make_submission_file_text(command, ""))


def _srun_options(survives_workers: bool, resources: SlurmResources, log: str) -> list[str]:
    """Return how srun starts the ranks of a run; later options override submitit's."""
    return [
        # all ranks write one log, each line labelled with its rank; the end of one rank ends all, unless the rule
        # survives the loss of workers
        f"--output={log}",
        "--open-mode=append",
        "--label",
        f"--kill-on-bad-exit={int(not survives_workers)}",
        f"--cpus-per-task={resources.rank_cpus}",  # srun does not inherit the option from sbatch
        # ranks bind themselves to the NUMA nodes of a many-core chip and then read their binding
        *(["--cpu-bind=none"] if resources.many_core else []),
    ]


def _step_resources(resources: SlurmResources) -> list[str]:
    """Return the srun options for one run's share of a shared job."""
    ranks = resources.node_ranks
    return [
        *("--exact", "--nodes=1", f"--ntasks={ranks}", f"--ntasks-per-node={ranks}"),
        # 0 lets the runs share the job's memory; without the option the first step would get all of it
        f"--mem={resources.memory_gb}GB" if resources.memory_gb else "--mem=0",
        *([f"--gres={resources.gres}"] if resources.gres else []),
    ]


def _folder_and_log(job: JobRequest | ArrayRequest) -> tuple[str, str]:
    """Return the run's folder in the shell's notation and its log in Slurm's; for a shared job, the task's own."""
    if isinstance(job, ArrayRequest):
        log = "out.log" if job.pack is None else "job.log"
        return f"{shlex.quote(str(job.folder.path))}/$SLURM_ARRAY_TASK_ID", f"{job.folder.path}/%a/{log}"
    return shlex.quote(str(job.folder.path)), str(job.folder.log)


def _additional_parameters(job: JobRequest | ArrayRequest, log: str) -> dict[str, Any]:
    # only the scheduler submits another attempt, so Slurm must not requeue the job
    options: dict[str, Any] = {"output": log, "no-requeue": True}
    if isinstance(job, ArrayRequest):
        options["array"] = format_tasks(job.tasks) + (f"%{job.parallel}" if job.parallel else "")
    return options


def _submitit_parameters(resources: SlurmResources) -> dict[str, object]:
    """Return the resources under submitit's names."""
    return {
        "partition": resources.partition,
        "nodes": resources.nodes,
        "ntasks_per_node": resources.node_ranks,
        "cpus_per_task": resources.rank_cpus,
        "exclusive": True if resources.many_core else None,  # other jobs' processes would disturb pinned ranks
        "gres": resources.gres,
        "constraint": resources.features,
        "time": resources.minutes,
        "mem": f"{resources.memory_gb}GB" if resources.memory_gb else None,
        "account": resources.account,
        "qos": resources.qos,
    }
