"""`make chaos MINUTES=n SEED=s`: random faults over a stream of short runs on the lab, and what became of every run.

Most runs are carried out by a trainer without torch (tests/testing/faults/light.py), some train for real, and some
attack the service (tests/testing/faults/hostile.py). Ends non-zero when a run or a point was lost or doubled, or when a
hostile run has not ended. The seed fixes what is struck and submitted, not the moments.
"""

import argparse
import json
import os
import platform
import random
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
from tests.testing.faults import hostile, lab, light
from tests.testing.faults.audit import Audit, audit
from tests.testing.faults.field import WORKERS, Field
from tests.testing.faults.mishaps import LIGHT_BATCH, MISHAPS, REAL_BATCH
from tests.testing.service import ENDED, running
from tests.testing.small_disk import small_disk

REPORT = Path(__file__).parents[2] / "benchmarks" / "results" / "chaos.json"
AT_ONCE, REAL_EVERY = 14, 8  # runs under way; one in so many trains for real
PACKED = 0.4  # of the sweeps have runs that share their jobs
PAUSE_S = (2.0, 10.0)  # between two faults
END_WITHIN_S = 600.0
SPEC = """
name: chaos
base:
  optimizer: {{kind: sgd}}
  schedule: {{kind: constant, rate: 0.02}}
  batch: {batch}
  epochs: {epochs}
  resources: {{kind: slurm, partition: gpu, minutes: 4}}
  retries: {{failure: 20, node_failure: 20, backoff_s: 1, backoff_most_s: 4}}
axes: {{seed: {seeds}}}
{pack}
"""
# what trains for real has another batch: the program that stands for Python looks at the spec
CHOOSE = """\
#!/bin/sh
case " $* " in *" -m trainers.packed_runs "*) exec {python} "$@";; esac
for word in "$@"; do case $word in /*) folder=$word;; esac; done
if grep -q '"batch": {real}' "$folder/spec.json"; then exec {python} "$@"; fi
exec {light} "$@"
"""
DISK_MB = 3072  # of the run folders, in memory
ATTACKED_S = 20  # for which a hostile run lives


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path, default=REPORT)
    asked = parser.parse_args()
    was_up = layout.load(selected_folder().layout) is not None
    subprocess.run([sys.executable, "-m", "lab", "up"], check=True, stdout=subprocess.DEVNULL)
    try:
        with tempfile.TemporaryDirectory(prefix="bigbatch-chaos-") as home:
            found, result = storm(Path(home), minutes=asked.minutes, seed=asked.seed)
    finally:
        if not was_up:
            subprocess.run([sys.executable, "-m", "lab", "down"], check=True)
    asked.report.write_text(json.dumps({"seed": asked.seed, **result, **found._asdict()}, indent=1) + "\n")
    for name in ("submitted", "finished", "lost", "doubled", "written", "stored"):
        print(f"{name:10} {getattr(found, name)}")
    print(f"faults     {sum(result['struck'].values())}: {result['struck']}")
    print("\n".join(found.faults))
    return 1 if found.faults else 0


def storm(home: Path, *, minutes: float, seed: int) -> tuple[Audit, dict[str, Any]]:
    """Submit and strike for so long, wait until all has ended, and count."""
    began, dice, loads = time.time(), random.Random(seed), list[float]()
    with ExitStack() as stack:
        field = _field(stack, home, dice)
        run_ids, real_ids, struck, over = list[int](), list[int](), Counter[str](), threading.Event()
        pool = stack.enter_context(ThreadPoolExecutor(1))
        submitter = pool.submit(_submit, field, run_ids, real_ids, over, random.Random(seed + 1))
        stack.callback(over.set)  # else a storm that fails waits for who submits
        until = time.monotonic() + 60 * minutes
        while time.monotonic() < until:
            time.sleep(dice.uniform(*PAUSE_S))
            order = dice.sample(sorted(MISHAPS), len(MISHAPS))
            name = next(
                (name for name in order if _strike(field, name)), "nothing"
            )  # what has nothing to strike is none
            field.restart_ended_workers()
            struck[name] += 1
            loads.append(os.getloadavg()[0])
            print(f"{time.strftime('%T')} {name}; {len(run_ids)} runs, {sum(struck.values())} faults", flush=True)
        over.set()
        fallen = submitter.exception()
        lab.mend()
        left = _wait_for_ends(field)
        found = audit(field.service, run_ids, lambda: lab.accounting(began), ends=("done", "cancelled"))
        wrong = _cancelled_unasked(field, run_ids)
        words = [f"run {run_id} was cancelled by nobody: {field.service.story(run_id)[:2000]}" for run_id in wrong]
        words += [*field.wrong, *_hostile_that_live(field)]
        if fallen:
            words.append(f"who posts the runs fell: {fallen!r}")
        if (stored := _stored(field)) != (posted := len(run_ids) + len(field.hostile)):
            words.append(f"{stored} runs are stored, {posted} were posted and answered")
        attempts = Counter(field.service.get(f"/runs/{run_id}")["attempt"] for run_id in run_ids)
    result = {
        "machine": {"machine": platform.machine(), "cores": os.cpu_count(), "load": round(sum(loads) / len(loads), 1)},
        "minutes": minutes,
        "struck": dict(sorted(struck.items())),
        "real_runs": len(real_ids),
        "hostile_runs": dict(sorted(Counter(field.hostile.values()).items())),
        "cancelled_by_hand": len(field.cancelled),
        "attempts": dict(sorted(attempts.items())),
        "end_s": left,
    }
    return found._replace(
        finished=found.finished - len(wrong), lost=[*found.lost, *wrong], faults=[*found.faults, *words]
    ), result


def _field(stack: ExitStack, home: Path, dice: random.Random) -> Field:
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
        "BIGBATCH_SLURM_PYTHON": str(_program(home)),
        "BIGBATCH_SLURM_SETUP": "export OMP_NUM_THREADS=1",
        "BIGBATCH_RUNS": str(stack.enter_context(small_disk(home / "runs", DISK_MB))),
        light.STEP_S: "0.2",
        hostile.LIFETIME_S: str(ATTACKED_S),
    }
    service = stack.enter_context(running(home / "home", settings))
    field = Field(service, stage, postgres, redis, dice)
    service.kill("worker")
    for name in WORKERS:
        field.start_worker(name)
    return field


def _program(home: Path) -> Path:
    path = home / "python"
    path.write_text(CHOOSE.format(real=REAL_BATCH, python=sys.executable, light=hostile.program(home)))
    path.chmod(0o755)
    return path


def _submit(field: Field, run_ids: list[int], real_ids: list[int], over: threading.Event, dice: random.Random) -> None:
    """Keep so many runs under way; whatever the API does not answer is asked again under the same key."""
    while not over.wait(1.0):
        with_service = _under_way(field)
        if with_service is None or with_service >= AT_ONCE:
            continue
        real = len(run_ids) >= REAL_EVERY * len(real_ids)
        seeds = [0] if real else list(range(dice.randint(1, 5)))
        batch, epochs = (REAL_BATCH, 2) if real else (LIGHT_BATCH, dice.randint(2, 8))
        pack = f"pack: {dice.randint(2, 4)}" if len(seeds) > 1 and dice.random() < PACKED else ""
        text = SPEC.format(seeds=seeds, epochs=epochs, batch=batch, pack=pack)
        posted = field.service.post_until_answered(text)
        run_ids += posted
        real_ids += posted if real else []


def _under_way(field: Field) -> int | None:
    """How many runs have not ended; None while the API does not say."""
    try:
        experiments = field.service.get("/experiments", limit=500)["items"]
    except Exception:  # it was struck a moment ago
        return None
    return sum(int(count) for item in experiments for state, count in item["counts"].items() if state not in ENDED)


def _stored(field: Field) -> int:
    """How many runs the service has, whoever was told of them."""
    counts, before = 0, None
    while True:
        page = field.service.get("/experiments", limit=500, **({"before": before} if before else {}))
        counts += sum(int(count) for item in page["items"] for count in item["counts"].values())
        if (before := page["next"]) is None:
            return counts


def _strike(field: Field, name: str) -> bool:
    try:
        return MISHAPS[name](field)
    except Exception as error:  # the part that was to tell is struck itself
        print(f"{name} was not possible: {error!r:.200}", flush=True)
        return False


def _wait_for_ends(field: Field) -> float:
    """Wait until every run has ended; return how long that took."""
    began = time.monotonic()
    while time.monotonic() - began < END_WITHIN_S and _under_way(field) != 0:
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
