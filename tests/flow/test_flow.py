"""From a POST to a curve, on real parts: embedded ones, and those of a team."""

import json
import re
from collections import Counter
from typing import Any

import pytest

from tests.testing.printing import faults_of, printing, stored_points
from tests.testing.servers import wait_for
from tests.testing.service import Service

pytestmark = pytest.mark.flow
SPEC = """
name: flow
base:
  optimizer: {{kind: lars}}
  schedule: {{kind: polynomial, rate: 8.0, warmup_epochs: 1.0}}
  batch: 128
  epochs: 3
  collective: {{kind: torus, rows: 2}}
  device: cpu  # the lab's GPUs are fake, so a run that requests some would refuse to train
  resources: {resources}
"""
STEPS = 33  # 3 epochs of 1437 // 128
LONG = SPEC.replace("epochs: 3", "epochs: 30000")


def curve_is_whole(service: Service, run: dict[str, Any]) -> None:
    assert run["state"] == "done", service.story(run["id"])
    series = service.get(f"/runs/{run['id']}/points")["series"]
    for name in ("loss", "learning_rate", "samples_per_s", "compute_s", "update_s", "communication_s", "input_s"):
        assert series[name]["steps"] == list(range(1, STEPS + 1)), name
        assert None not in series[name]["values"]
    assert series["heldout_accuracy"]["steps"] == [11, 22, 33]
    assert series["loss"]["values"][-1] < series["loss"]["values"][0]
    assert [move["new"] for move in run["moves"]] == ["queued", "submitting", "pending", "running", "done"]


@pytest.mark.ring("gate")
def test_on_sqlite_a_folder_as_broker_and_this_machine(embedded: Service) -> None:
    (run_id,) = embedded.post(SPEC.format(resources="{kind: local, ranks_per_node: 4}"))
    curve_is_whole(embedded, embedded.wait_for_end(run_id))


@pytest.mark.slurm
@pytest.mark.postgres
@pytest.mark.redis
@pytest.mark.parametrize(
    "where",
    [
        pytest.param('partition: gpu, gres: "gpu:2"', id="gpu", marks=pytest.mark.ring("gate")),
        pytest.param("partition: knl, constraint: knl&quad, cpus_per_rank: 2", id="knl"),
    ],
)
def test_on_postgresql_redis_and_slurm(team: Service, where: str) -> None:
    (run_id,) = team.post(SPEC.format(resources=f"{{kind: slurm, nodes: 2, ranks_per_node: 2, {where}}}"))
    curve_is_whole(team, team.wait_for_end(run_id))


@pytest.mark.slurm
@pytest.mark.postgres
@pytest.mark.redis
@pytest.mark.ring("gate")
def test_a_program_runs_by_srun_on_two_hosts(team: Service) -> None:
    command = "echo rank $RANK of $WORLD_SIZE by {x} on $SLURMD_NODENAME in step $SLURM_STEP_ID"
    resources = {"kind": "slurm", "partition": "gpu", "nodes": 2, "ranks_per_node": 2}
    base = {"kind": "program", "command": command, "parameters": {"x": 0.5}, "resources": resources}
    (run_id,) = team.post(json.dumps({"name": "by srun", "base": base}))
    run = team.wait_for_end(run_id)
    assert (run["state"], run["world"]) == ("done", 4), team.story(run_id)
    log = team.ask("GET", f"/runs/{run_id}/log").json()["text"]
    ranks = re.findall(r"rank (\d) of 4 by 0.5 on (\S+) in step \d+$", log, re.MULTILINE)
    assert sorted(rank for rank, _ in ranks) == ["0", "1", "2", "3"], log
    assert sorted(Counter(host for _, host in ranks).values()) == [2, 2]


@pytest.mark.slurm
@pytest.mark.postgres
@pytest.mark.redis
@pytest.mark.ring("gate")
def test_every_line_that_two_hosts_print_quickly_is_a_point(team: Service) -> None:
    """Forces the fault: srun breaks lines where the ranks print faster than it reads."""
    resources = {"kind": "slurm", "partition": "gpu", "nodes": 2, "ranks_per_node": 1}
    base = {"kind": "program", **printing(20_000, resources=resources)}
    (run_id,) = team.post(json.dumps({"name": "printed", "base": base}))
    assert team.wait_for_end(run_id)["state"] == "done", team.story(run_id)
    assert faults_of(stored_points(team, run_id), 20_000) == []


@pytest.mark.slurm
@pytest.mark.postgres
@pytest.mark.redis
def test_a_partition_that_slurm_refuses_fails_the_run_in_slurms_own_words(team: Service) -> None:
    (run_id,) = team.post(SPEC.format(resources="{kind: slurm, partition: nosuch, ranks_per_node: 4}"), force=True)
    run = team.wait_for_end(run_id)
    assert run["state"] == "failed"
    assert "invalid partition specified: nosuch" in run["reason"]


@pytest.mark.slurm
@pytest.mark.postgres
@pytest.mark.redis
def test_slurm_tells_its_partitions_nodes_and_queue(team: Service) -> None:
    wait_for("slurm's report", lambda: any(c["kind"] == "slurm" and c["report"] for c in team.get("/clusters")))
    report = next(c for c in team.get("/clusters") if c["kind"] == "slurm")["report"]
    assert {p["name"] for p in report["partitions"]} >= {"gpu", "knl"}
    assert {n["name"] for n in report["nodes"]} >= {"gpu1", "knl1"}
    assert next(n for n in report["nodes"] if n["name"] == "gpu1")["gres"].startswith("gpu:4")


@pytest.mark.slurm
@pytest.mark.postgres
@pytest.mark.redis
def test_a_sweep_on_slurm_is_one_array_and_every_task_its_own_run(team: Service) -> None:
    """Also: a stop of one of its tasks, which is running, and of one that waits for the cap, ends these alone."""
    where = "{kind: slurm, partition: gpu, gres: 'gpu:1'}"
    text = SPEC.format(resources=where).replace("rows: 2", "rows: 1")
    done = team.post(text + "axes: {seed: [0, 1, 2]}\n")
    runs = [team.wait_for_end(run_id) for run_id in done]
    for run in runs:
        curve_is_whole(team, run)
    arrays = {str(run["job_id"]).split("_")[0] for run in runs}
    assert [str(run["job_id"]).split("_")[1:] for run in runs] == [["0"], ["1"], ["2"]]
    assert len(arrays) == 1
    text = LONG.format(resources=where).replace("rows: 2", "rows: 1")
    running, waiting = team.post(text + "axes: {seed: [0, 1]}\nmax_parallel: 1\n")
    team.wait_until(running, step=3)
    wait_for("the reason", lambda: "JobArrayTaskLimit" in str(team.get(f"/runs/{waiting}")["reason"]))
    assert team.get(f"/runs/{waiting}")["waits_kind"] == "quota"
    for run_id in (waiting, running):
        team.stop(run_id)
        assert team.wait_for_end(run_id)["state"] == "cancelled"


@pytest.mark.slurm
@pytest.mark.postgres
@pytest.mark.redis
def test_a_run_on_slurm_is_stopped(team: Service) -> None:
    (run_id,) = team.post(LONG.format(resources="{kind: slurm, nodes: 2, ranks_per_node: 2, partition: gpu}"))
    stopped(team, run_id)


def test_a_run_on_this_machine_is_stopped(embedded: Service) -> None:
    (run_id,) = embedded.post(LONG.format(resources="{kind: local, ranks_per_node: 2}").replace("rows: 2", "rows: 1"))
    stopped(embedded, run_id)


def stopped(service: Service, run_id: int) -> None:
    service.wait_until(run_id, step=3)
    service.stop(run_id)
    run = service.wait_for_end(run_id)
    assert (run["state"], run["reason"]) == ("cancelled", "stopped on request")
    wait_for("the job's end", lambda: run["job_id"] not in jobs(service), 240)  # a Slurm tells its queue seldom


def jobs(service: Service) -> list[str]:
    """The jobs that the service's clusters say they have."""
    reports = [cluster["report"] for cluster in service.get("/clusters") if cluster["report"]]
    return [job["job_id"] for report in reports for job in report["queue"]]
