"""Checks on a compute node, by a small job: the shared folder and its delay, the clock, Python and PyTorch."""

import json
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from contract.api.site_check import Check, Grade, failed_check, passed_check
from contract.folder.files import untrusted_file
from contract.folder.files.atomic_file import write_atomic
from contract.folder.run_folder import RunFolder
from contract.settings import Settings
from scheduler.clusters.cluster import NoAnswerError
from scheduler.clusters.rate_limit import Priority
from scheduler.clusters.slurm.commands import ALL_PARTITIONS, Commands, parse_rows
from scheduler.doctor.torch import ANSWER_S, NODE, check_torch

SLOW_S, MAX_DELAY_S = 5.0, 60.0  # the scheduler waits no longer for a run's last event
MAX_CLOCK_SKEW_S = 5.0
POLL_INTERVAL_S = 0.05
JOB_MINUTES = 5  # the time limit of the job
MAX_ANSWER_BYTES = 1 << 16


class ProbeJob(NamedTuple):
    """The folder of the job, and the longest time for its start."""

    folder: Path
    commands: Commands
    wait_s: float


def check_compute_node(
    settings: Settings, commands: Commands, *, partition: str | None, wait_s: float
) -> Iterator[Check]:
    """Submit the job, wait up to `wait_s` seconds for its start, yield the results, and remove the job."""
    folder = settings.runs_folder() / f"doctor-{token_hex(4)}"
    try:
        (folder / "attempts").mkdir(parents=True)
        write_atomic(folder, "asked", folder.name)
        RunFolder(folder).claim(1, "the doctor")
        write_atomic(folder, "job.sh", _script(settings, folder, partition))
    except OSError as error:
        found, means = f"{folder} cannot be written: {error}", "no run can be submitted"
        yield _failed("folder", Grade.ERROR, found, means, "set BIGBATCH_RUNS to a folder that the worker can write")
        return
    try:
        submitted = commands.run("sbatch", str(folder / "job.sh"), priority=Priority.SUBMIT_ONE)
    except NoAnswerError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if submitted.exit_code:
        found = submitted.message or f"sbatch: exit code {submitted.exit_code}"
        advice = "choose an allowed partition with --partition, or add the user to an account with sacctmgr"
        yield _failed("job", Grade.ERROR, found, "Slurm refuses the user's jobs", advice)
        return
    job_id = "".join(re.findall(r"job (\d+)", submitted.stdout)[:1])
    try:
        yield from _check_from_job(ProbeJob(folder, commands, wait_s), job_id)
    finally:
        _cancel(commands, job_id)
        shutil.rmtree(folder, ignore_errors=True)


def _cancel(commands: Commands, job_id: str) -> None:
    """Cancel the job; print what to do if that is not possible, because the results must not be lost."""
    try:
        commands.run("scancel", job_id, priority=Priority.CANCEL)
    except NoAnswerError as doubt:
        command = f"scancel {job_id}"
        print(f"{doubt}: the job ends by itself within {JOB_MINUTES} minutes, or call {command}", file=sys.stderr)


def _check_from_job(probe: ProbeJob, job_id: str) -> Iterator[Check]:
    here = _wait_for_json(probe.folder, "here.json", probe.wait_s)
    if here is None:
        yield _explain_no_answer(probe, job_id)
        return
    yield _passed("job", f"job {job_id} ran on {here['host']}", "Slurm accepts and starts the user's jobs")
    yield _folder(probe.folder, here)
    yield _versions(here)
    began_at, began = time.time(), time.monotonic()
    untrusted_file.touch_file(probe.folder, "ping")
    pong = _wait_for_json(probe.folder, "pong.json", ANSWER_S)
    took_s = time.monotonic() - began
    if pong is None:
        means = "files of one host are not visible on the other host in time"
        advice = "mount with a shorter actimeo or lookupcache=positive, or set BIGBATCH_RUNS to another file system"
        yield _failed("delay", Grade.ERROR, f"no answer within {ANSWER_S:g} s", means, advice)
        return
    yield _delay(took_s)
    yield _clock(pong["at"] - (began_at + took_s / 2), took_s / 2)
    yield check_torch(NODE, _wait_for_json(probe.folder, "torch.json", ANSWER_S))


def _script(settings: Settings, folder: Path, partition: str | None) -> str:
    python = settings.slurm_python or shlex.quote(sys.executable)
    lines = [
        "#!/bin/bash",
        "#SBATCH --job-name=bigbatch-doctor",
        f"#SBATCH --time={JOB_MINUTES}",
        "#SBATCH --no-requeue",
    ]
    log, there = shlex.quote(f"{folder}/out.log"), shlex.quote(str(folder))
    lines += ["#SBATCH --ntasks=1", f"#SBATCH --output={log}"]
    lines += [f"#SBATCH --partition={shlex.quote(partition)}"] if partition else []
    command = f"srun --output={log} --open-mode=append {python} -P -m trainers.probe {there}"
    return "\n".join([*lines, *settings.slurm_setup, command]) + "\n"


def _wait_for_json(folder: Path, name: str, timeout_s: float) -> Any:
    """Return the JSON content of a file as soon as the file exists; None after `timeout_s`."""
    until = time.monotonic() + timeout_s
    while time.monotonic() <= until:
        with suppress(FileNotFoundError):
            return json.loads(untrusted_file.read_file(folder, name, MAX_ANSWER_BYTES))
        os.listdir(folder)  # NFS caches failed lookups, and a directory listing renews the cache
        time.sleep(POLL_INTERVAL_S)
    return None


def _explain_no_answer(probe: ProbeJob, job_id: str) -> Check:
    """Return why the job has not answered: the job waits, has failed, or its files are not visible here."""
    log = _last_lines(RunFolder(probe.folder))
    try:
        listed = parse_rows(
            probe.commands.ask("squeue", *ALL_PARTITIONS, "-h", "-t", "all", "-j", job_id, "-o", "%T|%r"), 2
        )
    except NoAnswerError as doubt:
        listed = [["unknown", str(doubt)]]
    state, reason = listed[0] if listed else ("gone", "")
    if state == "PENDING":
        found = f"the job still waits after {probe.wait_s:g} s ({reason})"
        means = "no compute node was checked, and runs may wait as long"
        return _failed(
            "job",
            Grade.WARNING,
            found,
            means,
            "wait longer with --wait 600, or choose another partition with --partition",
        )
    if log:
        means = "the jobs' Python does not exist on the compute nodes, or lacks bigbatch[trainer]"
        advice = "install bigbatch[trainer] on every compute node, or set BIGBATCH_SLURM_PYTHON or BIGBATCH_SLURM_SETUP"
        return _failed("python", Grade.ERROR, log, means, advice)
    means = "the folder of the runs is another folder on the compute nodes, or shows files late"
    advice = "set BIGBATCH_RUNS to a shared folder with the same path on all hosts"
    return _failed("folder", Grade.ERROR, f"the job ({state}) wrote no file in {probe.folder}", means, advice)


def _last_lines(folder: RunFolder) -> str:
    return " / ".join(folder.read_attempt_log(1, MAX_ANSWER_BYTES).strip().splitlines()[-3:])


def _folder(folder: Path, here: dict[str, Any]) -> Check:
    if here["asked"] != folder.name or here["holder"] != "the doctor":
        found = "the compute node reads other content, or could claim a claimed attempt"
        advice = "set BIGBATCH_RUNS to a shared folder on a file system with hard links"
        return _failed("folder", Grade.ERROR, found, "two jobs could carry out one run", advice)
    owner = untrusted_file.stat_file(folder, "here.json").st_uid
    if owner != os.getuid():
        found = f"the job's files belong to user id {owner}, the service runs as user id {os.getuid()}"
        means = "the service may not be able to read or delete the files of runs"
        advice = "use the same user ids on all hosts, mount without all_squash, or start the worker as the jobs' user"
        return _failed("folder", Grade.WARNING, found, means, advice)
    means = "the files of runs can be read here, and only one of two jobs can claim a run"
    return _passed("folder", "same content on both hosts; a claim of this host is valid on the compute node", means)


def _versions(here: dict[str, Any]) -> Check:
    own, there = version("bigbatch"), here["versions"]["bigbatch"]
    found = f"{here['python']}: Python {here['versions']['python']}, bigbatch {there}"
    if own == there:
        return _passed("python", found, "jobs and service have the same version")
    means = f"the service has version {own}: its specs may have fields that are unknown to the jobs"
    advice = f"run pip install 'bigbatch[trainer]=={own}' there, or set BIGBATCH_SLURM_PYTHON to a Python with it"
    return _failed("python", Grade.WARNING, found, means, advice)


def _delay(took_s: float) -> Check:
    found = f"a file and its answer were visible after {took_s:.2f} s"
    if took_s < SLOW_S:
        return _passed("delay", found, "curves and states are up to date")
    means = "curves and states are shown with this delay"
    advice = "mount with a shorter actimeo or lookupcache=positive"
    return _failed("delay", Grade.ERROR if took_s > MAX_DELAY_S else Grade.WARNING, found, means, advice)


def _clock(skew_s: float, within_s: float) -> Check:
    found = f"{abs(skew_s):.2f} s {'ahead' if skew_s > 0 else 'behind'}, +/- {within_s:.2f} s"
    if abs(skew_s) - within_s < MAX_CLOCK_SKEW_S:
        return _passed("clock", found, "a run's page shows times of this host's clock")
    means = "a run's page shows times of its node's clock; no decision of the service depends on equal clocks"
    return _failed("clock", Grade.WARNING, found, means, "run chrony or ntpd on all hosts")


def _passed(name: str, found: str, means: str) -> Check:
    return passed_check("compute node", name, found, means)


def _failed(name: str, grade: Grade, found: str, means: str, advice: str) -> Check:
    return failed_check("compute node", name, grade, found=found, means=means, advice=advice)
