"""No id is given twice, whatever was deleted, and on a database that was restored."""

from sqlalchemy import Engine, delete

from store import service
from store.lifecycle import creation
from store.session import transaction
from store.tables.experiments import Experiment as Stored
from store.tables.experiments import ExperimentField
from store.tables.runs import Move, Run, RunField
from tests.testing.specs import Experiment


def test_the_ids_of_deleted_rows_are_not_given_again(engine: Engine, experiment: Experiment) -> None:
    """SQLite itself would give the highest id of its rows plus one."""
    with transaction(engine) as db:
        first, first_runs = creation.create(db, experiment({"seed": [0, 1]}))
    with transaction(engine) as db:
        for table in (Move, RunField, Run, ExperimentField, Stored):
            db.execute(delete(table))
    with transaction(engine) as db:
        second, second_runs = creation.create(db, experiment({"seed": [0, 1]}))
    assert second > first
    assert min(second_runs) > max(first_runs)


def test_ids_continue_above_those_that_were_given_elsewhere(engine: Engine, experiment: Experiment) -> None:
    with transaction(engine) as db:
        service.raise_ids(db, service.Given(40, 900))
        service.raise_ids(db, service.Given(3, 5))
    with transaction(engine) as db:
        assert creation.create(db, experiment({"seed": [0, 1]})) == (41, [901, 902])
        assert service.given_ids(db) == service.Given(41, 902)


def test_keys_name_the_service_that_made_them(sqlite_engine: Engine, experiment: Experiment) -> None:
    with transaction(sqlite_engine) as db:
        ids = creation.create(db, experiment({"seed": [0, 1]}))[1]
        keys = {db.get_one(Run, run_id).key for run_id in ids}
        identity = service.identity(db)
    assert len(keys) == 2
    assert all(key.startswith(identity) and len(key) == 20 for key in keys)
