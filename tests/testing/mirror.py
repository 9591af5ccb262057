"""Runs with an output, and its copy as the database and a store in memory have it."""

from typing import Any

from sqlalchemy import Engine, update

from scheduler.context import Context
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.mirror import MirrorCopy, StoreOutage
from tests.testing.finished_runs import create, finish, folder_of
from tests.testing.object_store import FaultyStore
from tests.testing.specs import small_experiment

MODEL = {"model": "model.pt"}


def read_copy(engine: Engine, run_id: int, name: str = "model", attempt: int = 1) -> MirrorCopy | None:
    """Return the row of a copy."""
    with snapshot(engine) as db:
        return db.get(MirrorCopy, (run_id, attempt, name))


def let_time_pass(engine: Engine) -> None:
    """Let every claim and every wait be over."""
    with transaction(engine) as db:
        db.execute(update(MirrorCopy).values(due_at=now()))
        db.execute(update(StoreOutage).values(next_try_at=now()))


def done(context: Context, **fields: Any) -> int:
    """Return a run that is done, with an output of one file."""
    (run_id,) = create(context, small_experiment(outputs=MODEL, **fields))
    finish(context, run_id, {"model": "weights"})
    return run_id


def objects(store: FaultyStore) -> dict[str, bytes]:
    """Return what the store in memory has, by the names below its URL."""
    root = f"{store._root}/"
    return {
        name.removeprefix(root): store._files.cat_file(name) for name in store._files.store if name.startswith(root)
    }


def place_of(context: Context, run_id: int, name: str = "model") -> str:
    return f"{folder_of(context, run_id).name}/1/{name}"
