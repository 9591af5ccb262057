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

from contract.doctor import Check, Grade
from contract.folder import RunFolder
from contract.settings import Settings
from scheduler.clusters.cluster import DoubtError
from scheduler.clusters.gate import Urgency
from scheduler.clusters.slurm_commands import Commands, rows

LATE_S, TOO_LATE_S = 5.0, 60.0  # for longer than the latter nobody waits for a last line (scheduler/collect.py)
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
        yield _check("folder", Grade.ERROR, f"{folder} cannot be written: {error}", "no run can be submitted")
        return
    said = commands.run("sbatch", str(folder / "job.sh"), urgency=Urgency.ACT)
    if said.code:
        yield _check("job", Grade.ERROR, said.words or f"sbatch: exit code {said.code}", "Slurm takes no job of yours")
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
    yield _check("job", Grade.OK, f"job {job_id} ran on {here['host']}")
    yield _folder(patient.folder, here)
    yield _versions(here)
    began_at, began = time.time(), time.monotonic()
    (patient.folder / "ping").touch()
    pong = _answer(patient.folder / "pong.json", ANSWER_S)
    took_s = time.monotonic() - began
    if pong is None:
        means = "what a run writes is not seen here in time, or not there what is written here"
        yield _check("delay", Grade.ERROR, f"no answer within {ANSWER_S:g} s", means, "look at the mount's options")
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
        told = rows(patient.commands.ask("squeue", "-h", "-t", "all", "-j", job_id, "-o", "%T|%r"), 2)
    except DoubtError as doubt:
        told = [["unknown", str(doubt)]]
    state, reason = told[0] if told else ("gone", "")
    if state == "PENDING":
        advice = "bigbatch doctor --wait 600, or --partition with another"
        return _check("job", Grade.WARNING, f"it still waits after {patient.wait_s:g} s ({reason})", "", advice)
    if log:
        means = "the Python of the jobs does not do: it must have bigbatch[trainer], at that path, on the compute nodes"
        return _check("python", Grade.ERROR, log, means, "BIGBATCH_SLURM_PYTHON, BIGBATCH_SLURM_SETUP")
    means = "the folder of the runs is not the same on the compute nodes as here, or shows files late"
    return _check("folder", Grade.ERROR, f"the job ({state}) left nothing in {patient.folder}", means, "BIGBATCH_RUNS")


def _last_lines(path: Path) -> str:
    try:
        return " / ".join(path.read_text(errors="replace").strip().splitlines()[-3:])
    except OSError:
        return ""


def _folder(folder: Path, here: dict[str, Any]) -> Check:
    if here["asked"] != folder.name or here["holder"] != "the doctor":
        found = "the compute node reads something else there than was written, or could claim what was claimed"
        return _check(
            "folder",
            Grade.ERROR,
            found,
            "two jobs could carry out one run",
            "BIGBATCH_RUNS on a file system with hard links",
        )
    owner = (folder / "here.json").stat().st_uid
    if owner != os.getuid():
        found = f"the job's files belong to user {owner}, the service is {os.getuid()}"
        return _check("folder", Grade.WARNING, found, "the service may not be able to read or clear what runs write")
    return _check("folder", Grade.OK, "seen there as here; a claim made here holds there")


def _versions(here: dict[str, Any]) -> Check:
    own, there = version("bigbatch"), here["versions"]["bigbatch"]
    found = f"{here['python']}: Python {here['versions']['python']}, bigbatch {there}"
    if own == there:
        return _check("python", Grade.OK, found)
    return _check("python", Grade.WARNING, found, f"the service is {own}: specs may have fields that jobs do not know")


def _delay(took_s: float) -> Check:
    found = f"a file was seen there, and the answer here, after {took_s:.2f} s"
    if took_s < LATE_S:
        return _check("delay", Grade.OK, found)
    means = "curves and states come so much later"
    advice = "mount with a shorter actimeo or lookupcache=positive"
    return _check("delay", Grade.ERROR if took_s > TOO_LATE_S else Grade.WARNING, found, means, advice)


def _clock(skew_s: float, within_s: float) -> Check:
    found = f"{abs(skew_s):.2f} s {'ahead' if skew_s > 0 else 'behind'}, give or take {within_s:.2f} s"
    if abs(skew_s) - within_s < SKEWED_S:
        return _check("clock", Grade.OK, found)
    means = "no decision needs clocks that agree, but times on a run's page are its node's"
    return _check("clock", Grade.WARNING, found, means, "chrony or ntpd on all hosts")


def _torch(told: dict[str, Any] | None) -> Check:
    if told is None:
        return _check(
            "torch",
            Grade.ERROR,
            f"it did not load within {ANSWER_S:g} s",
            "runs start as slowly",
            "a Python on a faster disk",
        )
    if "error" in told:
        return _check(
            "torch", Grade.ERROR, told["error"], "no run can train there", "pip install 'bigbatch[trainer]' there"
        )
    gpus = told["gpus"]
    return _check(
        "torch", Grade.OK, f"{told['version']}, {gpus} GPU{'s' if gpus != 1 else ''} in a job that asked for none"
    )


def _check(name: str, grade: Grade, found: str, means: str = "", advice: str = "") -> Check:
    return Check(area="compute node", name=name, grade=grade, found=found, means=means, advice=advice)
