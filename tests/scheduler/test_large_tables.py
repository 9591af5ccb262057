"""Large tables: no statement of a tick or of the API reads all rows of a table that grows with the use."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import create_app
from benchmarks.growth.ended_runs import add_ended_runs
from contract.settings import Settings
from scheduler.context import Context
from store.metrics.retention import Retention
from tests.testing.api import TOKEN, WITH_TOKEN
from tests.testing.clusters import SLURM, Far, Puppet
from tests.testing.every_query import end_long_ago, get_everything, run_every_tick
from tests.testing.specs import Experiment
from tests.testing.statements import Statement, counted_steps, recorded, scanned_tables

# a part of a statement that may read a whole table or index: the reason
ALLOWED = {
    "min(runs.id": "`since` reads the index entries of all later runs: a few milliseconds for 10^5 runs",
    "min(experiments.id": "the same for experiments",
    "GROUP BY runs.state": "GET /metrics counts all runs: it reads an index alone, a few milliseconds for 10^5 runs",
    "EXISTS (SELECT * \nFROM runs": "no column has joint states: newest first, two index entries for each experiment",
    "AS table_run_": "the table counts and sorts all runs: under 200 ms for 30,000 (docs/log/run-table.md)",
    "AS grouped_run_id": "groups have all runs of their query: their ids are read, as for an export",
    "AS export_run_id": "an export has all runs of its query: their ids are read, a few milliseconds for 10^5 runs",
    "GROUP BY experiments.": "the completion of a query lists owners, projects and names by their frequency",
    "GROUP BY runs.cluster": "the same for clusters",
    "AS counted_end": "node failures count their period's attempts, at most 100,000, once a minute (docs/log/pages.md)",
    "AS run_of_text": "a text inside another has no order: some 100 ms for 30,000 runs (docs/log/run-table.md)",
    "replace(experiments.name": "a text inside a name has no order: names are read newest first, until a page is full",
}
# a list without a filter reads its table in the order of the primary key or of an index, and stops when a page is full
ORDERS = (
    "experiments.archived_at IS NULL ORDER BY experiments.id {}",
    "experiments.archived_at IS NULL ORDER BY experiments.name {0}, experiments.id {0}",
    "runs.archived_at IS NULL ORDER BY runs.id {}",
)
PAGES = tuple(order.format(direction) for order in ORDERS for direction in ("ASC", "DESC"))
FEW, MANY = 50, 1000  # ended runs beside those of the flow


@pytest.fixture
def statements(context: Context, puppet: Puppet, experiment: Experiment, tmp_path: Path) -> list[Statement]:
    """Everything that the ticks and the API ask the database in a representative flow."""
    far = Far()
    both = replace(context, clusters={"local": puppet, "slurm": far}, retention=Retention.of_days(30, 30))
    both = replace(both, tensorboard_folder=tmp_path / "tensorboard")
    on_slurm = experiment({"seed": [0, 1, 2, 3]}, resources=SLURM)
    specs = [experiment({"seed": [0, 1, 2, 3, 4, 5, 6]}), on_slurm]
    specs += [on_slurm.model_copy(update=change) for change in ({"max_parallel": 2}, {"pack": 2})]
    url = context.engine.url.render_as_string(hide_password=False)
    app = create_app(Settings(home=tmp_path, database=url, token=TOKEN))
    with recorded(context.engine) as found:
        run_ids = run_every_tick(both, specs, puppet)
        with TestClient(app, headers=WITH_TOKEN) as client:
            assert get_everything(client, app) > 50
            assert client.post("/api/v1/runs/2/stop").status_code == 200
            assert client.post("/api/v1/experiments/2/stop").status_code == 200
        end_long_ago(both, run_ids, 31)
    assert len(found) > 80
    return [one for same in found.values() for one in same if not any(part in one.sql for part in ALLOWED)]


@pytest.mark.ring("all")
def test_no_statement_scans_a_table_that_grows(engine: Engine, statements: list[Statement]) -> None:
    found = scanned_tables(engine, [one for one in statements if not one.sql.partition("\n LIMIT")[0].endswith(PAGES)])
    assert found == {}


def test_a_planted_scan_is_found(engine: Engine) -> None:
    """Forces the fault: a search by a column without an index."""
    planted = "SELECT id FROM jobs WHERE pending_detail = 'x'"
    assert list(scanned_tables(engine, [Statement(planted, ())])) == [planted]


@pytest.mark.ring("all")
@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_ten_times_the_ended_runs_make_no_statement_slower(engine: Engine, statements: list[Statement]) -> None:
    """Forces the growth; SQLite counts its steps, so an index that does not help is noticed as well as a scan."""
    _check_growth(engine, statements)


@pytest.mark.ring("all")
def test_a_planted_search_by_an_index_that_does_not_help_is_noticed(sqlite_engine: Engine) -> None:
    """Forces the fault: a sort of all runs of a frequent state."""
    planted = "SELECT id FROM runs WHERE state = 'done' ORDER BY step DESC LIMIT 3"
    with pytest.raises(AssertionError, match="ORDER BY step"):
        _check_growth(sqlite_engine, [Statement(planted, ())])


def _check_growth(engine: Engine, statements: list[Statement]) -> None:
    add_ended_runs(engine, FEW, timedelta(days=20), steps=1)
    few = counted_steps(engine, statements)
    add_ended_runs(engine, MANY, timedelta(days=20), steps=1)
    many = counted_steps(engine, statements)
    # the rows of a page, of which FEW runs do not make a full one, take up to 1,300 steps
    assert {sql: (few[sql], many[sql]) for sql in many if many[sql] > 2 * few[sql] + 2000} == {}
