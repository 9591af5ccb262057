"""Requests that schemathesis makes up from the OpenAPI document, sent to a real service: `make fuzz CALLS=n`."""

import argparse
import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import httpx

from contract.folder.events import Points
from contract.folder.run_folder import RunFolder
from contract.settings import Settings
from migrations.commands import upgrade
from store.metrics import points
from store.session import engine_for, transaction
from store.tables.runs import Run
from tests.testing.api import SPEC, TOKEN, WITH_TOKEN
from tests.testing.command import serving
from tests.testing.servers import postgres

SEED = 1
# All checks of schemathesis run, except:
# positive_data_acceptance: a document that matches the schema may be an impossible experiment (checks across fields);
# use_after_free, ensure_resource_availability: the API deletes nothing, and a request may name a run by chance;
# ignored_auth: tests/flow/test_other_user.py sends every operation without the token;
# not_a_server_error of /ready: 503 is a documented answer of this operation.
# get_events is left out: its answer does not end;
# The coverage phase tries every value of every field: thousands of calls for a spec, whose fields the fuzzing varies.
CONFIG = """
checks.positive_data_acceptance.enabled = false
checks.use_after_free.enabled = false
checks.ensure_resource_availability.enabled = false
checks.ignored_auth.enabled = false

[[operations]]
include-operation-id = "create_experiment"
phases.coverage.enabled = false

[[operations]]
include-operation-id = "get_readiness"
checks.not_a_server_error.enabled = false
"""


class Outcome(NamedTuple):
    """The result of one campaign."""

    calls: int
    ok: bool
    text: str


def fuzz(settings: Settings, calls: int, *, seed: int = SEED, phases: str = "coverage,fuzzing") -> Outcome:
    """Send about `calls` requests to a service with one experiment; return what schemathesis reports."""
    with serving(settings) as url, tempfile.TemporaryDirectory() as folder:
        _fill(url, settings)
        report = Path(folder) / "report.json"
        config = Path(folder) / "schemathesis.toml"
        config.write_text(CONFIG)
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "--no-color", "run"]
        command += [f"{url}/api/openapi.json"]
        command += ["--header", f"Authorization: {WITH_TOKEN['authorization']}"]
        command += ["--max-examples", str(max(1, calls // _operations(url)))]
        command += ["--seed", str(seed), "--generation-database", "none", "--no-shrink"]
        command += ["--phases", phases, "--continue-on-failure", "--warnings", "off"]
        command += ["--exclude-operation-id", "get_events"]
        command += ["--request-timeout", "60", "--suppress-health-check", "all"]
        command += ["--report", "json", "--report-json-path", str(report)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        return Outcome(_calls(report), done.returncode == 0, done.stdout + done.stderr)


def _fill(url: str, settings: Settings) -> None:
    """Store an experiment with points and a log, so that the answers have content."""
    headers = {**WITH_TOKEN, "content-type": "application/yaml"}
    posted = httpx.post(f"{url}/api/v1/experiments", content=SPEC, headers=headers)
    run_id = posted.raise_for_status().json()["runs"][0]
    with transaction(engine_for(settings.database_url())) as db:
        run = db.get_one(Run, run_id)
        reported = [Points(attempt=1, at=0.0, step=step, values={"loss": 1 / step}) for step in range(1, 50)]
        points.put(db, run_id, reported)
        folder = RunFolder.of(settings.runs_folder(), run_id, run.key)
    folder.path.mkdir(parents=True)
    folder.log.write_text("step 1\n" * 100)


def _operations(url: str) -> int:
    """The number of operations: schemathesis takes the number of calls for each of them."""
    answer = httpx.get(f"{url}/api/openapi.json", headers=WITH_TOKEN, timeout=60).raise_for_status()
    return sum(len(methods) for methods in answer.json()["paths"].values())


def _calls(report: Path) -> int:
    return int(json.loads(report.read_text())["test_cases"]["generated"]) if report.exists() else 0


def main() -> None:
    """Run one campaign on SQLite and one on PostgreSQL; exit with 1 if a check fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.testing.fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=SEED)
    asked = parser.parse_args()
    failed = False
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for kind, url in (("sqlite", f"sqlite:///{home}/fuzz.db"), ("postgresql", stack.enter_context(postgres()))):
            upgrade(url)
            outcome = fuzz(Settings(home=home / kind, database=url, token=TOKEN), asked.calls, seed=asked.seed)
            print(f"{kind}: {outcome.calls} calls, {'no failure' if outcome.ok else 'failures'}\n{outcome.text}")
            failed |= not outcome.ok
            engine_for(url).dispose()
    sys.exit(failed)


if __name__ == "__main__":
    main()
