"""Small workflows of programs and engine runs, to be varied by tests."""

from pathlib import Path
from typing import Any

from sqlalchemy import select

from contract.folder.events import Points
from contract.folder.outputs.content import hash_content
from contract.folder.outputs.record import RecordedArtifact
from contract.lifecycle.artifact import ArtifactKind
from contract.lifecycle.state import State
from contract.spec.expanded import Expanded, read_experiment
from scheduler.context import Context
from store.artifacts.artifacts import insert_artifacts
from store.lifecycle import creation
from store.metrics.points import put
from store.session import snapshot, transaction
from store.steps import progress
from store.steps.progress import StepProgress
from store.tables.runs import Run
from tests.testing.stored_runs import TO_RUNNING, move

CONTENT: dict[str, Any] = {"kind": ArtifactKind.FILE, "size_bytes": 1, "files": 1, "sha256": "0" * 64}
ENGINE: dict[str, Any] = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.05},
    "batch": 64,
    "epochs": 2,
    "resources": {"kind": "local", "ranks_per_node": 2},
}


def program(command: str = "true", **fields: Any) -> dict[str, Any]:
    """Return the document of a program of one local process."""
    return {"kind": "program", "command": command, "launcher": "plain", **fields}


def engine(**fields: Any) -> dict[str, Any]:
    """Return the document of a small engine run."""
    return {**ENGINE, **fields}


def step(name: str, base: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Return the document of a step."""
    return {"name": name, "base": base or program(), **fields}


def document(*steps: dict[str, Any]) -> dict[str, Any]:
    """Return the document of a workflow."""
    return {"name": "a workflow", "steps": list(steps)}


def workflow(*steps: dict[str, Any]) -> Expanded:
    """Return a workflow."""
    return read_experiment(document(*steps))


def post_workflow(context: Context, *steps: dict[str, Any]) -> int:
    """Store a workflow; return the id of its experiment."""
    with transaction(context.engine) as db:
        return creation.create(db, workflow(*steps))[0]


def steps_of(context: Context, experiment_id: int = 1) -> dict[str, StepProgress]:
    """Return the steps of an experiment by name."""
    with snapshot(context.engine) as db:
        return {step.name: step for step in progress.of_experiment(db, experiment_id)}


def states_of(context: Context, experiment_id: int = 1) -> dict[str, str]:
    """Return the states of an experiment's steps by name."""
    return {name: step.state.value for name, step in steps_of(context, experiment_id).items()}


def runs_of(context: Context, name: str, experiment_id: int = 1) -> list[Run]:
    """Return the runs of a step in the order of their numbers."""
    step_id = steps_of(context, experiment_id)[name].id
    with snapshot(context.engine) as db:
        return list(db.scalars(select(Run).where(Run.step_id == step_id).order_by(Run.number)))


def end_run(context: Context, run: Run, state: State = State.DONE, **metrics: float) -> None:
    """End a queued run, with one point of each metric; the outputs of its spec count as recorded, files or not."""
    folder = context.folder_of(run).path
    with transaction(context.engine) as db:
        row = db.get_one(Run, run.id)
        outputs = run.spec.get("outputs", {}).items() if state is State.DONE else ()
        found = [RecordedArtifact(name=name, path=path, **_content(folder, path)) for name, path in outputs]
        insert_artifacts(db, run.id, 1, found, has_retention=run.spec["keep"]["kind"] != "all")
        for new in (*TO_RUNNING, state):
            move(db, row, new)
        if metrics:
            put(db, run.id, [Points(attempt=1, at=0.0, step=1, values=dict(metrics))])


def _content(folder: Path, path: str) -> dict[str, Any]:
    is_there = (folder / path).exists() and not (folder / path).is_symlink()
    return hash_content(folder, path)._asdict() if is_there else CONTENT


def end_step_runs(
    context: Context, name: str, state: State = State.DONE, experiment_id: int = 1, **metrics: float
) -> None:
    """End all runs of a step."""
    for run in runs_of(context, name, experiment_id):
        end_run(context, run, state, **metrics)


def write_output(context: Context, run: Run, path: str, content: str) -> Path:
    """Write a file into the folder of a run, as its program would."""
    file = context.folder_of(run).path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    return file
