"""A tiny job: does a compute node see the shared folder, and soon; is its clock right; does the Python there do?"""

import json
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from contract.api.site_check import Check, Grade, amiss, fine
from contract.folder.run_folder import RunFolder
from contract.settings import Settings
from scheduler.clusters.cluster import DoubtError
from scheduler.clusters.rate_limit import Urgency
from scheduler.clusters.slurm.commands import EVERYWHERE, Commands, rows

LATE_S, TOO_LATE_S = 5.0, 60.0  # for longer than the latter nobody waits for a last line (scheduler/ticks/ingest.py)
SKEWED_S = 5.0
ANSWER_S = 180.0  # once the job has begun
LOOK_S = 0.05


class Patient(NamedTuple):
    """The folder of the job, and what its answers are waited for."""

    folder: Path
    commands: Commands
    wait_s: float


def node(settings: Settings, commands: Commands, *, partition: str | None, wait_s: float) -> Iterator[Check]:
    """Submit the job, wait up to `wait_s` for it to begin, talk to it through the folder, and clear up."""
    folder = settings.runs_folder() / f"doctor-{token_hex(4)}"
    try:
        (folder / "attempts").mkdir(parents=True)
        (folder / "asked").write_text(folder.name)
        RunFolder(folder).claim(1, "the doctor")
        (folder / "job.sh").write_text(_script(settings, folder, partition))
    except OSError as error:
        found, means = f"{folder} cannot be written: {error}", "no run can be submitted"
        yield _amiss("folder", Grade.ERROR, found, means, "BIGBATCH_RUNS to a folder that the worker can write")
        return
    said = commands.run("sbatch", str(folder / "job.sh"), urgency=Urgency.ACT)
    if said.code:
        found = said.words or f"sbatch: exit code {said.code}"
        advice = "bigbatch doctor --partition with one that takes you, or sacctmgr add user to an account that may"
        yield _amiss("job", Grade.ERROR, found, "Slurm takes no job of yours", advice)
        return
    job_id = "".join(re.findall(r"job (\d+)", said.out)[:1])
    try:
        yield from _talk(Patient(folder, commands, wait_s), job_id)
    finally:
        commands.run("scancel", job_id, urgency=Urgency.ACT)
        shutil.rmtree(folder, ignore_errors=True)


def _talk(patient: Patient, job_id: str) -> Iterator[Check]:
    here = _answer(patient.folder / "here.json", patient.wait_s)
    if here is None:
        yield _why_not(patient, job_id)
        return
    yield _fine("job", f"job {job_id} ran on {here['host']}", "Slurm takes jobs of yours, and starts them")
    yield _folder(patient.folder, here)
    yield _versions(here)
    began_at, began = time.time(), time.monotonic()
    (patient.folder / "ping").touch()
    pong = _answer(patient.folder / "pong.json", ANSWER_S)
    took_s = time.monotonic() - began
    if pong is None:
        means = "what a run writes is not seen here in time, or not there what is written here"
        advice = "mount it with a shorter actimeo or lookupcache=positive, or BIGBATCH_RUNS to another file system"
        yield _amiss("delay", Grade.ERROR, f"no answer within {ANSWER_S:g} s", means, advice)
        return
    yield _delay(took_s)
    yield _clock(pong["at"] - (began_at + took_s / 2), took_s / 2)
    yield _torch(_answer(patient.folder / "torch.json", ANSWER_S))


def _script(settings: Settings, folder: Path, partition: str | None) -> str:
    python = settings.slurm_python or shlex.quote(sys.executable)
    lines = ["#!/bin/bash", "#SBATCH --job-name=bigbatch-doctor", "#SBATCH --time=5", "#SBATCH --no-requeue"]
    lines += ["#SBATCH --ntasks=1", f"#SBATCH --output={folder}/out.log"]
    lines += [f"#SBATCH --partition={partition}"] if partition else []
    command = (
        f"srun --output={folder}/out.log --open-mode=append {python} -P -m trainers.probe {shlex.quote(str(folder))}"
    )
    return "\n".join([*lines, *settings.slurm_setup, command]) + "\n"


def _answer(path: Path, patience_s: float) -> Any:
    """What stands in a file, as soon as it is there; None when it does not come."""
    until = time.monotonic() + patience_s
    while not path.exists():
        if time.monotonic() > until:
            return None
        os.listdir(path.parent)  # on NFS a name that was looked up in vain is taken for absent for a while
        time.sleep(LOOK_S)
    return json.loads(path.read_text())


def _why_not(patient: Patient, job_id: str) -> Check:
    """The job has not answered: it waits, it failed, or what it wrote is not seen here."""
    log = _last_lines(patient.folder / "out.log")
    try:
        told = rows(patient.commands.ask("squeue", *EVERYWHERE, "-h", "-t", "all", "-j", job_id, "-o", "%T|%r"), 2)
    except DoubtError as doubt:
        told = [["unknown", str(doubt)]]
    state, reason = told[0] if told else ("gone", "")
    if state == "PENDING":
        found = f"it still waits after {patient.wait_s:g} s ({reason})"
        means = "no compute node was looked at, and runs may have to wait as long"
        return _amiss("job", Grade.WARNING, found, means, "bigbatch doctor --wait 600, or --partition with another")
    if log:
        means = "the Python of the jobs does not do: it must have bigbatch[trainer], at that path, on the compute nodes"
        advice = "BIGBATCH_SLURM_PYTHON to one that does, or BIGBATCH_SLURM_SETUP to what must run before it"
        return _amiss("python", Grade.ERROR, log, means, advice)
    means = "the folder of the runs is not the same on the compute nodes as here, or shows files late"
    advice = "BIGBATCH_RUNS to a folder that all hosts have at the same path"
    return _amiss("folder", Grade.ERROR, f"the job ({state}) left nothing in {patient.folder}", means, advice)


def _last_lines(path: Path) -> str:
    try:
        return " / ".join(path.read_text(errors="replace").strip().splitlines()[-3:])
    except OSError:
        return ""


def _folder(folder: Path, here: dict[str, Any]) -> Check:
    if here["asked"] != folder.name or here["holder"] != "the doctor":
        found = "the compute node reads something else there than was written, or could claim what was claimed"
        advice = "BIGBATCH_RUNS to a folder on a file system with hard links"
        return _amiss("folder", Grade.ERROR, found, "two jobs could carry out one run", advice)
    owner = (folder / "here.json").stat().st_uid
    if owner != os.getuid():
        found = f"the job's files belong to user {owner}, the service is {os.getuid()}"
        means = "the service may not be able to read or clear what runs write"
        advice = "the same user ids on all hosts, a mount without all_squash, or start the worker as the jobs' user"
        return _amiss("folder", Grade.WARNING, found, means, advice)
    means = "what runs write can be read here, and of two jobs of one run only one carries it out"
    return _fine("folder", "seen there as here; a claim made here holds there", means)


def _versions(here: dict[str, Any]) -> Check:
    own, there = version("bigbatch"), here["versions"]["bigbatch"]
    found = f"{here['python']}: Python {here['versions']['python']}, bigbatch {there}"
    if own == there:
        return _fine("python", found, "jobs know every field of the service's specs")
    means = f"the service is {own}: specs may have fields that jobs do not know"
    advice = f"pip install 'bigbatch[trainer]=={own}' there, or BIGBATCH_SLURM_PYTHON to a Python that has it"
    return _amiss("python", Grade.WARNING, found, means, advice)


def _delay(took_s: float) -> Check:
    found = f"a file was seen there, and the answer here, after {took_s:.2f} s"
    if took_s < LATE_S:
        return _fine("delay", found, "curves and states come soon")
    means = "curves and states come so much later"
    advice = "mount with a shorter actimeo or lookupcache=positive"
    return _amiss("delay", Grade.ERROR if took_s > TOO_LATE_S else Grade.WARNING, found, means, advice)


def _clock(skew_s: float, within_s: float) -> Check:
    found = f"{abs(skew_s):.2f} s {'ahead' if skew_s > 0 else 'behind'}, give or take {within_s:.2f} s"
    if abs(skew_s) - within_s < SKEWED_S:
        return _fine("clock", found, "times on a run's page are those of here")
    means = "no decision needs clocks that agree, but times on a run's page are its node's"
    return _amiss("clock", Grade.WARNING, found, means, "chrony or ntpd on all hosts")


def _torch(told: dict[str, Any] | None) -> Check:
    if told is None:
        found, advice = f"it did not load within {ANSWER_S:g} s", "BIGBATCH_SLURM_PYTHON to a Python on a faster disk"
        return _amiss("torch", Grade.ERROR, found, "runs start as slowly", advice)
    if "error" in told:
        advice = "pip install 'bigbatch[trainer]' there"
        return _amiss("torch", Grade.ERROR, told["error"], "no run can train there", advice)
    gpus = told["gpus"]
    found = f"{told['version']}, {gpus} GPU{'s' if gpus != 1 else ''} in a job that asked for none"
    return _fine("torch", found, "runs can train there")


def _fine(name: str, found: str, means: str) -> Check:
    return fine("compute node", name, found, means)


def _amiss(name: str, grade: Grade, found: str, means: str, advice: str) -> Check:
    return amiss("compute node", name, grade, found=found, means=means, advice=advice)
