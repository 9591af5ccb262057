"""Own programs on a Slurm: launchers, arrays and shared jobs, and what befalls their jobs."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from contract.folder.run_folder import RunFolder
from tests.testing.faults.on_fake_slurm import OnStandIn
from tests.testing.servers import wait_for

pytestmark = pytest.mark.flow
# adds a line to the file of its rank and waits for the file `go`; pauses on SIGUSR2 and SIGTERM
PROGRAM = """
import os, signal, sys, time
for number in (signal.SIGUSR2, signal.SIGTERM):
    signal.signal(number, lambda *_: sys.exit(4))
with open("starts-" + os.environ["RANK"], "a") as file:
    file.write(os.environ["BIGBATCH_ATTEMPT"] + chr(10))
while not os.path.exists("go"):
    time.sleep(0.05)
"""


def post(
    on: OnStandIn, *, runs: int = 1, pack: int | None = None, nodes: int = 1, ranks: int = 1, **fields: Any
) -> list[int]:
    resources = {"kind": "slurm", "partition": "gpu", "nodes": nodes, "ranks_per_node": ranks}
    base = {"kind": "program", "command": [sys.executable, "-c", PROGRAM], "resources": resources}
    base |= {"retries": {"backoff_s": 0}, "parameters": {"n": 0}, **fields}
    document = {"name": "own", "base": base, "axes": {"parameters.n": list(range(runs))}, "pack": pack}
    return on.service.post(json.dumps(document))


def folder_of(on: OnStandIn, run_id: int) -> Path:
    return Path(on.service.get(f"/runs/{run_id}")["folder"])


def starts(on: OnStandIn, run_id: int) -> dict[str, list[str]]:
    """Return the attempts that each rank has started."""
    return {path.name: path.read_text().split() for path in sorted(folder_of(on, run_id).glob("starts-*"))}


def begun(on: OnStandIn, run_id: int, ranks: int, attempt: int = 1) -> None:
    """Wait until every rank of an attempt runs, and the service knows."""
    wait_for(
        f"the start of run {run_id}",
        lambda: (
            sum(found[-1:] == [str(attempt)] for found in starts(on, run_id).values()) == ranks
            and on.states([run_id]) == ["running"]
        ),
        120,
    )


def let_go(on: OnStandIn, run_ids: list[int]) -> None:
    for run_id in run_ids:
        wait_for("the run's folder", folder_of(on, run_id).is_dir, 150)
        (folder_of(on, run_id) / "go").touch()
    wait_for("the runs' end", lambda: set(on.states(run_ids)) == {"done"}, 150)
    for run_id in run_ids:
        run = on.service.get(f"/runs/{run_id}")
        claims = [RunFolder(folder_of(on, run_id)).read_claim(number + 1) for number in range(run["attempt"])]
        assert len(set(claims)) == run["attempt"], "one claim per attempt"


def test_every_rank_has_its_number_on_two_hosts(on: OnStandIn) -> None:
    (run_id,) = post(on, nodes=2, ranks=2)
    begun(on, run_id, 4)
    let_go(on, [run_id])
    assert starts(on, run_id) == {f"starts-{rank}": ["1"] for rank in range(4)}
    events = [json.loads(line) for line in (folder_of(on, run_id) / "events.jsonl").read_text().splitlines()]
    assert [event["kind"] for event in events] == ["started", "finished"]
    assert len(set(events[0]["hosts"])) == 2


def test_an_array_of_programs_runs_each_once(on: OnStandIn) -> None:
    run_ids = post(on, runs=3)
    let_go(on, run_ids)
    assert [starts(on, run_id) for run_id in run_ids] == [{"starts-0": ["1"]}] * 3


def test_programs_share_a_job(on: OnStandIn) -> None:
    run_ids = post(on, runs=4, pack=2)
    for run_id in run_ids:
        begun(on, run_id, 1)
    assert len({on.job_of(run_id).full_id for run_id in run_ids}) == 2
    let_go(on, run_ids)


def test_one_program_of_a_shared_job_is_stopped_alone(on: OnStandIn) -> None:
    first, second = post(on, runs=2, pack=2)
    for run_id in (first, second):
        begun(on, run_id, 1)
    assert on.service.ask("POST", f"/runs/{first}/stop").status_code in (200, 202)
    wait_for("the stop", lambda: on.states([first]) == ["cancelled"], 120)
    let_go(on, [second])


def test_a_preempted_program_pauses_and_goes_on(on: OnStandIn) -> None:
    (run_id,) = post(on, nodes=2, ranks=1)
    begun(on, run_id, 2)
    on.befall("preempt", on.job_of(run_id).full_id)
    begun(on, run_id, 2, attempt=2)
    let_go(on, [run_id])
    run = on.service.get(f"/runs/{run_id}")
    assert (run["attempt"], run["attempts"][0]["cause"]) == (2, "preempted")


def test_a_program_whose_host_fails_goes_on_elsewhere(on: OnStandIn) -> None:
    (run_id,) = post(on)
    begun(on, run_id, 1)
    job = on.job_of(run_id)
    on.befall("fail-host", job.hosts)
    begun(on, run_id, 1, attempt=2)
    let_go(on, [run_id])
    run = on.service.get(f"/runs/{run_id}")
    assert (run["attempt"], run["attempts"][0]["cause"]) == (2, "node_failure")


@pytest.mark.parametrize("fault", ["requeue", "start-again"])
def test_a_program_that_slurm_starts_twice_runs_as_the_next_attempt(on: OnStandIn, fault: str) -> None:
    """Forces the fault: somebody requeues the job by hand, or a controller lost its state; Slurm starts it again."""
    (run_id,) = post(on)
    begun(on, run_id, 1)
    on.befall(fault, on.job_of(run_id).full_id)
    begun(on, run_id, 1, attempt=2)
    let_go(on, [run_id])
    assert starts(on, run_id) == {"starts-0": ["1", "2"]}


def test_a_program_without_handlers_that_is_preempted_is_run_again(on: OnStandIn) -> None:
    command = "echo $BIGBATCH_ATTEMPT >> starts-$RANK; until [ -e go ]; do sleep 0.05; done"
    (run_id,) = post(on, command=command)
    begun(on, run_id, 1)
    on.befall("preempt", on.job_of(run_id).full_id)
    begun(on, run_id, 1, attempt=2)
    let_go(on, [run_id])
    assert on.service.get(f"/runs/{run_id}")["attempts"][0]["cause"] == "preempted"


def test_a_failed_rank_of_several_is_named(on: OnStandIn) -> None:
    command = "if [ $RANK = 2 ]; then kill -SEGV $$; fi; sleep 600; true"
    (run_id,) = post(on, nodes=2, ranks=2, command=command)
    wait_for("the failure", lambda: on.states([run_id]) == ["failed"], 150)
    run = on.service.get(f"/runs/{run_id}")
    (failed,) = on.service.get(f"/experiments/{run['experiment_id']}/failures")["items"]
    assert (failed["failure"]["rank"], failed["failure"]["kind"]) == (2, "signal")
