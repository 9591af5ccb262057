"""Every change of a run that its page shows is recorded, whichever tick makes it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from contract.settings import Settings
from scheduler.context import Context
from store import changes
from store.session import snapshot
from tests.testing import every_query
from tests.testing.api import TOKEN, WITH_TOKEN
from tests.testing.clusters import SLURM, Far, Puppet
from tests.testing.every_query import run_every_tick
from tests.testing.specs import Experiment


def views_of(client: TestClient) -> dict[int, Any]:
    """Return each run as the lists show it, and its history."""
    shown = client.get("/api/v1/runs?limit=500").json()["items"]
    return {run["id"]: run for run in shown}


@pytest.mark.ring("all")
def test_what_a_tick_changes_is_what_a_reader_of_changes_gets(
    context: Context, puppet: Puppet, experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The flow has submissions, points, retries, stops and every kind of end."""
    url = context.engine.url.render_as_string(hide_password=False)
    both = replace(context, clusters={"local": puppet, "slurm": Far()})
    tick, seen, compared = every_query._tick, dict[int, Any](), 0
    with TestClient(create_app(Settings(home=tmp_path, database=url, token=TOKEN)), headers=WITH_TOKEN) as client:

        def compare(one: Context) -> None:
            nonlocal compared
            with snapshot(context.engine) as db:
                since = changes.position(db)
            before = views_of(client)
            tick(one)
            with snapshot(context.engine) as db:
                found = changes.read(db, since)
            after = views_of(client)
            differ = {run_id for run_id, view in after.items() if view != before.get(run_id)}
            assert differ <= {row.run_id for row in found.rows}, [(before.get(id_), after[id_]) for id_ in differ]
            compared += len(differ)
            seen.update(after)

        monkeypatch.setattr(every_query, "_tick", compare)
        specs = [experiment({"seed": [0, 1, 2, 3, 4, 5, 6]}), experiment({"seed": [0, 1, 2, 3]}, resources=SLURM)]
        run_every_tick(both, specs, puppet)
    assert compared > 20
    assert {"done", "failed", "paused"} & {run["state"] for run in seen.values()}
