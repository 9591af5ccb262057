"""An own program from a POST to its end, on the embedded service."""

import json
from typing import Any

import pytest

from tests.testing.servers import wait_for
from tests.testing.service import ENDED, Service

pytestmark = pytest.mark.flow


def post(service: Service, command: str, **fields: Any) -> int:
    base = {"kind": "program", "command": command, "resources": {"kind": "local", "ranks_per_node": 2}, **fields}
    (run_id,) = service.post(json.dumps({"name": "own program", "base": base}))
    return run_id


def ended(service: Service, run_id: int) -> dict[str, Any]:
    wait_for(f"the end of run {run_id}", lambda: service.get(f"/runs/{run_id}")["state"] in ENDED, 300)
    run: dict[str, Any] = service.get(f"/runs/{run_id}")
    return run


def test_a_program_runs_on_two_ranks_and_is_done(embedded: Service) -> None:
    run = ended(embedded, post(embedded, "echo hello {lr} from rank $RANK of $WORLD_SIZE", parameters={"lr": 0.5}))
    assert (run["state"], run["attempt"], run["world"]) == ("done", 1, 2)
    log = embedded.ask("GET", f"/runs/{run['id']}/log").text
    assert "hello 0.5 from rank 1 of 2" in log


def test_a_program_that_fails_names_the_rank(embedded: Service) -> None:
    run = ended(embedded, post(embedded, "if [ $RANK = 1 ]; then kill -KILL $$; fi; sleep 600"))
    assert run["state"] == "failed"
    (failed,) = embedded.get(f"/experiments/{run['experiment_id']}/failures")["items"]
    assert (failed["failure"]["rank"], failed["failure"]["kind"]) == (1, "signal")


def test_a_program_is_retried_and_a_pause_goes_on(embedded: Service) -> None:
    command = "if [ $BIGBATCH_ATTEMPT = 1 ]; then exit 4; fi; if [ $BIGBATCH_ATTEMPT = 2 ]; then exit 1; fi"
    run = ended(embedded, post(embedded, command, retries={"failure": 1, "backoff_s": 0}))
    assert (run["state"], run["attempt"]) == ("done", 3)


def test_a_running_program_is_stopped(embedded: Service) -> None:
    run_id = post(embedded, "sleep 600; true")
    wait_for("the start", lambda: embedded.get(f"/runs/{run_id}")["state"] == "running", 300)
    assert embedded.ask("POST", f"/runs/{run_id}/stop").status_code in (200, 202)
    assert ended(embedded, run_id)["state"] == "cancelled"


def test_a_program_that_cannot_start_is_refused_and_force_submits_it(embedded: Service) -> None:
    base = {"kind": "program", "command": "no-such-program", "resources": {"kind": "local"}}
    text = json.dumps({"name": "own program", "base": base})
    answer = embedded.ask("POST", "/experiments", content=text, headers={"content-type": "application/yaml"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] == "base.command"
    (run_id,) = embedded.post(text, force=True)
    assert ended(embedded, run_id)["state"] == "failed"
