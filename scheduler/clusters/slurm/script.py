"""The batch script of a job or an array: submitit writes the script around this project's command.

The job of an engine run runs `python -m trainers FOLDER --attempt N`, the job of a program the agent, and no job runs a
pickle of submitit's: submitit gives the pickle its final name only after sbatch has returned, so a worker that dies in
between would leave the job without its pickle. Slurm stores a copy of the script itself. A job that several runs share
requests the resources of all of them, and a packer (runfiles/packed.py) starts one srun step for each run.
"""

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from submitit.slurm.slurm import SlurmExecutor

from contract.folder.bounds import HOST_NAME
from contract.folder.job_identity import JOB_START_VARIABLE, time_limit_warning_s
from contract.settings import SLURM_TOKEN
from contract.spec.checks.packing import combined_resources
from contract.spec.resources import Slurm as SlurmResources
from scheduler.clusters.cluster import ArrayRequest, JobRequest
from scheduler.clusters.slurm.job_ids import format_tasks
from scheduler.clusters.slurm.job_locale import RESTORE_LOCALE
from scheduler.clusters.slurm.launch import MEMBER, Launch, find_launch

# sbatch copies its own environment into the job's; the program that replaces the shell has the token nowhere in /proc
_WITHOUT_SLURM_TOKEN = f'[ -z "${{{SLURM_TOKEN}-}}" ] || exec env -u {SLURM_TOKEN} "$BASH" "$0"'

_MARK_START = f'export {JOB_START_VARIABLE}="$(date +%s%N)-$$"'  # of every start, also one that Slurm does not count


class _Executor(SlurmExecutor):
    """submitit's executor without its check that Slurm is installed: a dry run prints scripts on any machine."""

    @classmethod
    def affinity(cls) -> int:
        return 1


def render_script(job: JobRequest | ArrayRequest, *, python: str, setup: Sequence[str]) -> str:
    """Return the exact text of the script that sbatch gets; `python` is the jobs' Python of the settings, or empty."""
    resources = job.spec.resources
    assert isinstance(resources, SlurmResources), resources
    folder, log = _folder_and_log(job)
    pack = job.pack if isinstance(job, ArrayRequest) else None
    own_python = python or shlex.quote(sys.executable)
    launch = find_launch(job.spec, resources, runs_folder=_runs_folder(job), python=own_python, asked_python=python)
    # the packer replaces {} by each run's folder
    srun_options = _srun_options(job.spec.survives_workers, launch, f"{MEMBER}/out.log" if pack else log)
    executor = _Executor(folder=job.folder.path)
    executor.update_parameters(
        **_submitit_parameters(combined_resources(resources, pack) if pack else resources),
        **_task_parameters(launch, pack or 1),
        job_name=job.name,
        comment=job.comment or job.name,
        signal_delay_s=time_limit_warning_s(resources.minutes),
        setup=[
            *(_WITHOUT_SLURM_TOKEN, RESTORE_LOCALE, _MARK_START),
            *([] if pack else [_first_start(folder, job.attempt)]),
            *setup,
        ],
        stderr_to_stdout=True,
        wckey=None,  # clusters that enforce wckeys refuse submitit's default
        # names stored by an earlier version were not checked, and a comma or a line break would end the option
        exclude=",".join(host for host in job.excluded if re.fullmatch(HOST_NAME, host)) or None,
        additional_parameters=_additional_parameters(job, resources, launch, log),
        srun_args=srun_options,
        use_srun=pack is None and launch.uses_srun,
    )
    command = f"{launch.command} {MEMBER if pack else folder} --attempt {job.attempt}"
    if pack:
        step = shlex.join(["srun", "--unbuffered", *_step_resources(resources, launch), *srun_options])
        command = f"{launch.packer} {folder} --attempt {job.attempt} -- {step} {command}"
    elif not launch.uses_srun:
        command = f"exec {command}"  # Slurm signals the process of the batch script
    return str(executor._make_submission_file_text(command, ""))


def _first_start(folder: str, attempt: int) -> str:
    """Return the line that marks the first start of a job, before anything that takes time.

    A controller that lost this start in a crash states a later one (scheduler/ticks/poll.py).
    """
    mark = f"{folder}/attempts/{attempt}.began"
    return f"[ -e {mark} ] || {{ : > {mark}; }} 2>/dev/null || true"


def _srun_options(survives_workers: bool, launch: Launch, log: str) -> list[str]:
    """Return how srun starts the processes of a run; later options override submitit's."""
    return [
        # all ranks write one log, each line labelled with its rank (below torchrun by the agent); the end of one rank
        # ends all, unless the rule survives the loss of workers
        f"--output={log}",
        "--open-mode=append",
        *(["--label"] if launch.task_is_rank else []),
        f"--kill-on-bad-exit={int(not survives_workers)}",
        f"--cpus-per-task={launch.cpus_per_task}",  # srun does not inherit the option from sbatch
        *launch.srun_options,
    ]


def _step_resources(resources: SlurmResources, launch: Launch) -> list[str]:
    """Return the srun options for one run's share of a shared job."""
    tasks = launch.tasks_per_node
    return [
        *("--exact", "--nodes=1", f"--ntasks={tasks}", f"--ntasks-per-node={tasks}"),
        # 0 lets the runs share the job's memory; without the option the first step would get all of it
        f"--mem={resources.memory_gb}GB" if resources.memory_gb else "--mem=0",
        *([f"--gres={resources.devices}"] if resources.devices else []),
    ]


def _runs_folder(job: JobRequest | ArrayRequest) -> Path:
    """Return the folder of the run folders."""
    return job.folder.path.parent.parent if isinstance(job, ArrayRequest) else job.folder.path.parent


def _folder_and_log(job: JobRequest | ArrayRequest) -> tuple[str, str]:
    """Return the run's folder in the shell's notation and its log in Slurm's; for a shared job, the task's own."""
    if isinstance(job, ArrayRequest):
        log = "out.log" if job.pack is None else "job.log"
        return f"{shlex.quote(str(job.folder.path))}/$SLURM_ARRAY_TASK_ID", f"{job.folder.path}/%a/{log}"
    return shlex.quote(str(job.folder.path)), str(job.folder.log)


def _additional_parameters(
    job: JobRequest | ArrayRequest, resources: SlurmResources, launch: Launch, log: str
) -> dict[str, Any]:
    # only the scheduler submits another attempt, so Slurm must not requeue the job
    options: dict[str, Any] = {**resources.options, "output": log, "no-requeue": True}
    if isinstance(job, ArrayRequest):
        options["array"] = format_tasks(job.tasks) + (f"%{job.parallel}" if job.parallel else "")
    if not launch.uses_srun:
        options["signal"] = f"B:USR2@{time_limit_warning_s(resources.minutes)}"  # there is no job step to warn
    return options


def _task_parameters(launch: Launch, runs: int) -> dict[str, object]:
    """Return the number of processes, for a job of `runs` runs, and the cpus of each."""
    return {"ntasks_per_node": launch.tasks_per_node * runs, "cpus_per_task": launch.cpus_per_task}


def _submitit_parameters(resources: SlurmResources) -> dict[str, object]:
    """Return the other resources under submitit's names."""
    return {
        "partition": resources.partition,
        "nodes": resources.nodes,
        "exclusive": True if resources.many_core else None,  # other jobs' processes would disturb pinned ranks
        "gres": resources.devices,
        "constraint": resources.features,
        "time": resources.minutes,
        "mem": f"{resources.memory_gb}GB" if resources.memory_gb else None,
        "account": resources.account,
        "qos": resources.qos,
    }
