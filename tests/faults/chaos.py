"""`make chaos MINUTES=n SEED=s`: random faults over a stream of short runs on the lab, and what became of every run.

Half of the runs are engine runs: most are carried out by a trainer without torch (tests/testing/faults/light.py), some
train for real. Half are own programs (tests/testing/faults/programs). Further runs attack the service
(tests/testing/faults/hostile.py). Ends non-zero when a run or a point was lost or doubled, when lost steps were not
counted exactly, or when a hostile run has not ended. The seed fixes what is struck and submitted, not the moments.
"""

import argparse
import itertools
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lab import layout
from lab.fake_slurm import programs
from lab.fake_slurm.state import ClusterState, Settings
from lab.state_folder import selected_folder
from tests.testing import servers
from tests.testing.databases import new_database
from tests.testing.fake_slurm import on_path
from tests.testing.faults import hostile, lab, light, stream
from tests.testing.faults.audit import Audit, audit, events, steps_written, submitted_twice
from tests.testing.faults.field import WORKERS, Field
from tests.testing.faults.long_mishaps import LASTING, LongStrikes
from tests.testing.faults.mishaps import MISHAPS
from tests.testing.faults.programs.changed_tools import damaged_versions
from tests.testing.faults.programs.ledger import ledger_faults
from tests.testing.faults.programs.mishaps import PROGRAM_MISHAPS
from tests.testing.service import ENDED, running
from tests.testing.small_disk import small_disk

REPORT = Path(__file__).parents[2] / "benchmarks" / "results" / "chaos.json"
PAUSE_S = (1.0, 6.0)  # between two faults
PATIENCE_S = 2.0  # for a run that a fault can befall
END_WITHIN_S = 600.0
DISK_MB = 3072  # of the run folders, in memory
ATTACKED_S = 20  # for which a hostile run lives


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path, default=REPORT)
    parser.add_argument("--keep", type=Path, help="new folder for run folders and logs if a fault is found")
    parser.add_argument("--only", nargs="+", choices=sorted(MISHAPS), default=sorted(MISHAPS), metavar="FAULT")
    asked = parser.parse_args()
    was_up = layout.load(selected_folder().layout) is not None
    subprocess.run([sys.executable, "-m", "lab", "up"], check=True, stdout=subprocess.DEVNULL)
    try:
        with tempfile.TemporaryDirectory(prefix="bigbatch-chaos-") as home:
            found, result = storm(Path(home), asked)
    finally:
        if not was_up:
            subprocess.run([sys.executable, "-m", "lab", "down"], check=True)
    document = {"seed": asked.seed, **result, **{kind: count._asdict() for kind, count in found.items()}}
    asked.report.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{'':12}" + "".join(f"{kind:>10}" for kind in found))
    for name in ("submitted", "finished", "lost", "doubled", "written", "stored", "restarts", "lost_steps"):
        values = [getattr(count, name) for count in found.values()]
        print(f"{name:12}" + "".join(f"{len(value) if isinstance(value, list) else value:>10}" for value in values))
    print(f"faults      {sum(result['struck'].values())}, one every {result['every_s']} s: {result['struck']}")
    faults = [*result["faults"], *(fault for count in found.values() for fault in count.faults)]
    print("\n".join(faults))
    return 1 if faults else 0


def storm(home: Path, asked: argparse.Namespace) -> tuple[dict[str, Audit], dict[str, Any]]:
    """Submit and strike for so long, wait until all has ended, and count the runs of each kind."""
    began, dice, loads = time.time(), random.Random(asked.seed), list[float]()
    with ExitStack() as stack:
        field = make_field(stack, home, dice)
        struck, over, long, moments = Counter[str](), threading.Event(), LongStrikes(), [time.monotonic()]
        pool = stack.enter_context(ThreadPoolExecutor(1))
        submitter = pool.submit(stream.submit, field, over, random.Random(asked.seed + 1))
        stack.callback(over.set)  # else a storm that fails waits for who submits
        until = time.monotonic() + 60 * asked.minutes
        while time.monotonic() < until:
            time.sleep(dice.uniform(*PAUSE_S))
            names = sorted([*asked.only, *(name for name in asked.only if name in PROGRAM_MISHAPS)])  # these twice
            names = [name for name in names if long.allows(name)]
            order = dice.sample(names, len(names))
            name = next(
                (name for name in order if _strike(field, name, long)), "nothing"
            )  # what has nothing to strike is none
            field.restart_ended_workers()
            struck[name] += 1
            moments.append(time.monotonic())
            loads.append(os.getloadavg()[0])
            runs = f"{len(field.engines)} + {len(field.programs)} runs"
            print(f"{time.strftime('%T')} {name}; {runs}, {sum(struck.values())} faults", flush=True)
        over.set()
        long.join()
        fallen = submitter.exception()
        lab.mend()
        left = _wait_for_ends(field)
        found = {kind: _count(field, run_ids) for kind, run_ids in _kinds(field).items()}
        words = [*submitted_twice(lambda: lab.accounting(began)), *field.wrong, *_hostile_that_live(field)]
        words += [f"the tools {version} are damaged" for version in damaged_versions(field.runs)]
        if fallen:
            words.append(f"who posts the runs fell: {fallen!r}")
        if (stored := stream.count_stored(field)) != (posted := len(field.run_ids) + len(field.hostile)):
            words.append(f"{stored} runs are stored, {posted} were posted and answered")
        result = {
            "machine": {"machine": platform.machine(), "cores": os.cpu_count(), "load": _mean(loads)},
            "minutes": asked.minutes,
            "struck": dict(sorted(struck.items())),
            "every_s": round((moments[-1] - moments[0]) / max(1, len(moments) - 1), 1),
            "longest_pause_s": round(max((b - a for a, b in itertools.pairwise(moments)), default=0.0), 1),
            "hostile_runs": dict(sorted(Counter(field.hostile.values()).items())),
            "cancelled_by_hand": len(field.cancelled),
            "end_s": left,
            "faults": words,
            **_described(field),
        }
        if asked.keep and (words or any(count.faults for count in found.values())):
            _keep(field, asked.keep)
    return found, result


def _keep(field: Field, place: Path) -> None:
    """Copy what shows the cause of a fault; hostile runs are left out, whose files may be of any size."""
    shutil.copytree(field.ledger, place / "ledger")
    for log in field.home.glob("*.log"):
        shutil.copy(log, place)
    shutil.copytree(selected_folder().root / "log", place / "slurm")
    accounted = lab.answered("sacct", "-X", "-D", "-a", "-P", "-S", "now-2hours", "-o", lab.ACCOUNTED)
    (place / "sacct").write_text(accounted)
    for run_id in field.run_ids:
        view = field.service.get(f"/runs/{run_id}")
        folder = place / f"{run_id}-{Path(view['folder']).name}"
        shutil.copytree(view["folder"], folder, symlinks=True)
        (folder / "view.json").write_text(json.dumps(view, indent=1))


def _kinds(field: Field) -> dict[str, list[int]]:
    return {"engine": field.engines, "program": list(field.programs)}


def _count(field: Field, run_ids: list[int]) -> Audit:
    """Count the runs of one kind; one that ended as if somebody had wanted it is lost."""
    found = audit(field.service, run_ids, list, ends=("done", "cancelled"))
    wrong = _cancelled_unasked(field, run_ids)
    faults = [f"run {run_id} was cancelled by nobody: {field.service.story(run_id)[:2000]}" for run_id in wrong]
    for run_id in run_ids:
        if run_id in field.programs:
            faults += ledger_faults(field.service.get(f"/runs/{run_id}"), field.ledger)
    lost = [*found.lost, *wrong]
    return found._replace(finished=found.finished - len(wrong), lost=lost, faults=[*found.faults, *faults])


def _described(field: Field) -> dict[str, Any]:
    """Return what the runs were, how many attempts they took, and how attempts ended."""
    views = {kind: [field.service.get(f"/runs/{run_id}") for run_id in ids] for kind, ids in _kinds(field).items()}
    attempts = {kind: Counter(view["attempt"] for view in runs) for kind, runs in views.items()}
    ends = {kind: Counter(part["cause"] for view in runs for part in view["attempts"]) for kind, runs in views.items()}
    printed = [view for view in views["program"] if view["state"] == "done"]
    return {
        "real_runs": len(field.real),
        "programs": dict(sorted(Counter(field.programs.values()).items())),
        "attempts": {kind: dict(sorted(counts.items())) for kind, counts in attempts.items()},
        "causes": {kind: {str(cause): count for cause, count in counts.items()} for kind, counts in ends.items()},
        # a killed agent loses the lines that it has not read from its ranks' pipes
        "steps_lost_with_output": sum(
            view["steps"] - len(steps_written(events(Path(view["folder"])))) for view in printed
        ),
    }


def _mean(values: list[float]) -> float:
    return round(sum(values) / max(1, len(values)), 1)


def make_field(stack: ExitStack, home: Path, dice: random.Random) -> Field:
    """Start a team's service with two workers on PostgreSQL, Redis and the lab."""
    postgres = stack.enter_context(servers.postgres_process())
    redis = stack.enter_context(servers.redis_process(home))
    stage = ClusterState.create(home / "slurm", Settings())
    stage.set("real", "/usr/bin")
    programs.write(stage.folder)
    (stage.folder / "bin" / "srun").unlink()
    settings = {
        "PATH": on_path(stage.folder),
        "SLURM_CONF": str(selected_folder().slurm_conf),
        "BIGBATCH_DATABASE": new_database(postgres.url, "chaos"),
        "BIGBATCH_BROKER": redis.url,
        "BIGBATCH_SLURM": "true",
        "BIGBATCH_SLURM_PYTHON": str(stream.program(home)),
        "BIGBATCH_SLURM_SETUP": "export OMP_NUM_THREADS=1",
        "BIGBATCH_RUNS": str(stack.enter_context(small_disk(home / "runs", DISK_MB))),
        light.STEP_S: "0.2",
        hostile.LIFETIME_S: str(ATTACKED_S),
    }
    service = stack.enter_context(running(home / "home", settings))
    field = Field(service, stage, postgres, redis, dice, patience_s=PATIENCE_S)
    field.ledger.mkdir()
    service.kill("worker")
    for name in WORKERS:
        field.start_worker(name)
    return field


def _strike(field: Field, name: str, long: LongStrikes) -> bool:
    if name in LASTING:
        return long.begin(name, lambda: _strike_now(field, name))
    return _strike_now(field, name)


def _strike_now(field: Field, name: str) -> bool:
    try:
        return MISHAPS[name](field)
    except Exception as error:  # the part that was to tell is struck itself
        print(f"{name} was not possible: {error!r:.200}", flush=True)
        return False


def _wait_for_ends(field: Field) -> float:
    """Wait until every run has ended; return how long that took."""
    began = time.monotonic()
    while time.monotonic() - began < END_WITHIN_S and stream.count_under_way(field) != 0:
        field.restart_ended_workers()
        time.sleep(1)
    return round(time.monotonic() - began, 1)


def _hostile_that_live(field: Field) -> list[str]:
    """Return in words which hostile runs have not ended with a reason."""
    runs = [(attack, field.service.get(f"/runs/{run_id}")) for run_id, attack in field.hostile.items()]
    return [
        f"the hostile run {run['id']} ({attack}) is {run['state']}: {run['reason']}"
        for attack, run in runs
        if run["state"] not in ENDED or not run["reason"]
    ]


def _cancelled_unasked(field: Field, run_ids: list[int]) -> list[int]:
    """Runs that ended as if somebody had wanted it: they are lost."""
    states = {run_id: field.service.get(f"/runs/{run_id}")["state"] for run_id in run_ids}
    return [run_id for run_id, state in states.items() if state == "cancelled" and run_id not in field.cancelled]


if __name__ == "__main__":
    sys.exit(main())
