"""Volumes whose chunks two jobs of the lab share, while ranks are killed at random moments."""

import json
import random
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from contract.spec.volume.volume import Volume
from tests.testing.service import Service
from tests.testing.trainers import counted_writes
from tests.testing.trainers.counted_writes import Writes, check_writes
from tests.testing.trainers.volumes import SPEC, stored_blobs, write_input
from trainers.volume.task_folder import TaskFolder, Worker
from trainers.volume.work.plan import CHUNKS, NUMBERS, Plan, make_plan
from trainers.volume.work.worker import Workbench

pytestmark = [pytest.mark.flow, pytest.mark.slurm, pytest.mark.long]
SHAPE = (64, 64, 64)  # 512 chunks
TASK_S = 0.2  # as a worker waits for its accelerator: then most moments of its life are inside a task
PATIENCE_S = 1200  # of one volume
MOST_RETRIES = 100
MOST_KILLS = 10  # of one volume: a job waits twice as long before each further attempt


def spec_of(out: Path, em: Path) -> dict[str, Any]:
    """The spec of SPEC with absolute paths, which both jobs share."""
    operators = [{**one, "path": str(out / one["path"])} if "path" in one else one for one in SPEC["operators"]]
    operators[0] = {"kind": "read", "path": str(em)}
    return {**SPEC, "operators": operators, "work": str(out / "work"), "lease_s": 3.0}


def plan_of(out: Path, em: Path) -> Plan:
    return make_plan(Volume.model_validate(spec_of(out, em)), out)


def document_of(out: Path, em: Path) -> str:
    worker = [counted_writes.__file__, str(out / "writes"), str(TASK_S)]
    base = {
        "kind": "program",
        "command": f"exec python {shlex.join(worker)}",
        "environment": {"venv": sys.prefix, "variables": {"OMP_NUM_THREADS": "1"}},
        "volume": spec_of(out, em),
        "parameters": {"job": 0},
        "resources": {"kind": "slurm", "partition": "gpu", "nodes": 1, "ranks_per_node": 2, "minutes": 30},
        "retries": {"failure": MOST_RETRIES, "backoff_s": 0.1},
    }
    return json.dumps({"name": "shared volume", "base": base, "axes": {"parameters.job": [0, 1]}})


def ranks_on(out: Path) -> list[psutil.Process]:
    """Return the processes of workers on the volume: they have its log of writes as an argument."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if words[1:3] == [counted_writes.__file__, str(out / "writes")]:
            found.append(process)
    return found


def carry_out_with_kills(team: Service, out: Path, em: Path, most: int, rng: random.Random) -> tuple[int, Writes]:
    """Let two jobs carry out all tasks; kill ranks at random moments. Return the number of kills, and the writes."""
    out.mkdir()
    runs = team.post(document_of(out, em))
    kills, end = 0, time.monotonic() + PATIENCE_S
    while kills < most and time.monotonic() < end:
        if all(team.get(f"/runs/{run}")["state"] == "done" for run in runs):
            break
        time.sleep(rng.uniform(0.5, 6))
        if victims := ranks_on(out):
            rng.choice(victims).kill()
            kills += 1
    ended = [team.wait_for_end(run, patience_s=PATIENCE_S) for run in runs]
    assert [run["state"] for run in ended] == ["done"] * 2, [team.story(run) for run in runs]
    counted = check_writes(
        out / "writes", plan_of(out, em), {str(out / "values"): CHUNKS, str(out / "labels"): NUMBERS}
    )
    chunks = team.get(f"/runs/{runs[0]}/chunks")
    assert set(chunks["states"]) == {"d"}
    print(f"{kills} kills, attempts {[run['attempt'] for run in ended]}, {counted}")
    return kills, counted


@pytest.mark.timeout(4 * PATIENCE_S)
@pytest.mark.parametrize("kills", [10, 100])
def test_two_jobs_whose_ranks_are_killed_write_the_bytes_of_one_process(
    kills: int, team: Service, tmp_path: Path
) -> None:
    """SIGKILL to ranks of two Slurm jobs at random moments: attempts fail and follow, tasks come back.

    As many volumes as the kills need. Every block is written at least once, at most once for each lease of its
    task, and always with the same bytes.
    """
    write_input(tmp_path / "em", SHAPE)
    plan = plan_of(tmp_path / "alone", tmp_path / "em")
    Workbench(plan, TaskFolder(plan.work / "tasks", Worker("alone"), lease_s=60)).work()
    rng, killed, volumes, taken_over = random.Random(kills), 0, 0, 0
    while killed < kills:
        out = tmp_path / f"shared {volumes}"
        more, counted = carry_out_with_kills(team, out, tmp_path / "em", min(kills - killed, MOST_KILLS), rng)
        killed, taken_over, volumes = killed + more, taken_over + counted.taken_over, volumes + 1
        for name in ("values", "labels"):
            assert stored_blobs(out / name) == stored_blobs(tmp_path / "alone" / name)
    print(f"{killed} kills, {volumes} volumes, {taken_over} leases taken over")
    assert taken_over > 0
