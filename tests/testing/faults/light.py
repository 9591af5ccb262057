"""A trainer without torch: it claims, beats, tells, saves, pauses and goes on as a real one does, and computes nothing.

For faults that the stand-in Slurm forces: its jobs begin at once, so that many of them fit into a test. What trains for
real is seen on the lab. `python -P -u -m trainers FOLDER --attempt N` becomes this by `program`.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from contract.folder.job_identity import CLAIM_REFUSED_EXIT_CODE, JOB_START_VARIABLE, PAUSED_EXIT_CODE
from contract.folder.run_folder import RunFolder
from runfiles.claim import ClaimRefused, claim_attempt
from trainers.job import SPEC_WAIT_S, wait_for_spec
from trainers.progress.reporter import Reporter
from trainers.ranks import heartbeat

HOUSE = Path(__file__).parents[3]
STEP_S = "LIGHT_STEP_S"  # seconds that a step takes, in the environment
AHEAD_S = "LIGHT_AHEAD_S"  # seconds by which its host's clock is ahead, in the environment
HURRY = "hurry"  # a file in the run folder: the rest takes no time
MEETING = "meeting"  # a file beside the run folders: the ranks of who begins now have not met
PROGRAM = """\
#!/bin/sh
case " $* " in *"/agent "*) exec {python} "$@";; esac
if [ "$4" = trainers.packed_runs ]; then PYTHONPATH={house} exec {python} "$@"; fi
while [ "$1" != trainers ]; do shift; done
PYTHONPATH={house} exec {python} -m tests.testing.faults.light "$2" "$4"
"""


def program(folder: Path) -> Path:
    """Write the program that takes the place of Python on the compute nodes."""
    path = folder / "light-python"
    path.write_text(PROGRAM.format(house=HOUSE, python=sys.executable))
    path.chmod(0o755)
    return path


def train(folder: RunFolder, attempt: int) -> int:
    """Carry out one attempt; return the exit status."""
    _set_clock(float(os.environ.get(AHEAD_S, "0")))
    asked: list[int] = []
    for signum in (signal.SIGTERM, signal.SIGUSR2):
        signal.signal(signum, lambda number, _: asked.append(number))
    wait_for_spec(folder, SPEC_WAIT_S)
    try:
        claim_attempt(folder, attempt, job=job_name())
    except ClaimRefused as refusal:
        print(refusal, file=sys.stderr)
        return CLAIM_REFUSED_EXIT_CODE
    heartbeat.start_heartbeat(folder, attempt, every_s=2.0)
    spec, report, kept = folder.read_spec(), Reporter(folder, attempt, rank=0), folder.path / "kept.json"
    while (folder.path.parent / MEETING).exists():
        time.sleep(0.05)
    report.started([os.environ["SLURMD_NODENAME"]], device="cpu", steps=spec.steps, versions={})
    step = json.loads(kept.read_text()) if kept.exists() else 0
    if step:
        report.resumed(step, [])
    else:
        report.began()
    while step < spec.steps:
        if not (folder.path / HURRY).exists():
            time.sleep(float(os.environ.get(STEP_S, "0.05")))
        step += 1
        report.points(step, {"loss": 1.0 / step})
        if asked:
            draft = kept.with_suffix(".draft")
            draft.write_text(json.dumps(step))
            draft.replace(kept)  # on a full disk the old file stays whole
            report.paused(step, saved_step=step, reason=f"{signal.Signals(asked[0]).name} to rank 0")
            return PAUSED_EXIT_CODE
    report.finished(spec)
    return 0


def _set_clock(ahead_s: float) -> None:
    """Let this host's clock be off: in events, and in stamps of files where the file system takes a host's time."""
    right, beat, claim = time.time, RunFolder.write_heartbeat, RunFolder.claim

    def stamp(path: Path) -> None:
        if ahead_s:
            os.utime(path, (time.time(), time.time()))

    def beat_and_stamp(folder: RunFolder, attempt: int) -> None:
        beat(folder, attempt)
        stamp(folder.path / "attempts" / f"{attempt}.beat")

    def claim_and_stamp(folder: RunFolder, attempt: int, job: str) -> str:
        holder = claim(folder, attempt, job)
        stamp(folder.path / "attempts" / f"{attempt}.json")
        return holder

    time.time = lambda: right() + ahead_s
    RunFolder.write_heartbeat = beat_and_stamp  # type: ignore[method-assign, assignment]  # for this process alone
    RunFolder.claim = claim_and_stamp  # type: ignore[method-assign, assignment]


def job_name() -> str:
    restarts, array = os.environ.get("SLURM_RESTART_COUNT", "0"), os.environ.get("SLURM_ARRAY_JOB_ID")
    name = f"{array}_{os.environ['SLURM_ARRAY_TASK_ID']}" if array else os.environ["SLURM_JOB_ID"]
    name += f" (restart {restarts})" if restarts != "0" else ""
    return f"{name} (start {os.environ[JOB_START_VARIABLE]})" if JOB_START_VARIABLE in os.environ else name


if __name__ == "__main__":
    status = train(RunFolder(Path(sys.argv[1])), int(sys.argv[2]))
    sys.stdout.flush()
    os._exit(status)
