"""The acceptance of an experiment, in two parts: `check` reads files before the transaction, `store` writes in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from contract.differences import is_same
from contract.spec.expanded import Expanded, read_experiment
from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.step_grid import MAX_ISSUES
from contract.spec.steps.workflow import unknown_step, with_descendants
from contract.validation import issues_of
from orders.checks.code import check_code
from orders.checks.files import absent_files
from orders.checks.initial_weights import with_initial_weights
from orders.checks.service import check_service
from orders.folders import Folders
from orders.refused import Refused, conflict, invalid, no_experiment
from orders.warnings import find_warnings
from store import experiments
from store.lifecycle import creation
from store.tables.experiments import Experiment


@dataclass(frozen=True)
class Request:
    """What is asked for beside the spec."""

    key: str | None = None  # under which the experiment is made once
    owner: str = ""  # where the spec names none
    origin: int | None = None  # the experiment that this one repeats or varies
    force: bool = False  # trust no report of a cluster, look for no program, take no finished run's result
    from_step: str | None = None  # this step of a workflow and those that need it take no finished run's result


@dataclass(frozen=True)
class Accepted:
    """An experiment that is stored, with the ids of its runs."""

    experiment_id: int
    run_ids: list[int]
    warnings: list[str]


def read(document: Mapping[str, Any]) -> Expanded | Refused:
    """Return the experiment of a document with its points."""
    try:
        return read_experiment(document)
    except ValidationError as error:
        return Refused("the experiment is not valid", issues_of(error))


def check(engine: Engine, document: Mapping[str, Any], folders: Folders, *, force: bool = False) -> Expanded | Refused:
    """Return the experiment as it is stored, after all checks that take long or read files.

    The caller holds no transaction. Code snapshots that the spec names are protected from being removed. Raise OSError
    if a folder gives no answer.
    """
    experiment = read(document)
    if isinstance(experiment, Refused):
        return experiment
    if refused := check_code(engine, experiment, folders.snapshots):
        return refused
    resolved = with_initial_weights(engine, experiment, folders.runs)
    if isinstance(resolved, Refused) or force:
        return resolved
    if issues := absent_files(resolved, folders.runs):
        message = "a program cannot start; force=true (--force) submits it"
        return Refused(message, issues[:MAX_ISSUES], is_forceable=True)
    return resolved


def find_refusal(db: Session, experiment: Expanded, asked: Request) -> Refused | None:
    """Return why this service would not store an experiment that `check` returned; None if it would."""
    return _check_step(experiment.spec, asked.from_step) or check_service(db, experiment, force=asked.force)


def store(db: Session, experiment: Expanded, asked: Request) -> Accepted | Refused:
    """Store an experiment that `check` returned, with one queued run per point; a repeated key is carried out once.

    A search has no runs yet, and a workflow only those of steps that need no other one. Raise IntegrityError where
    another transaction stores an experiment of this key at once, or takes away what the experiment names.
    """
    if refused := _check_step(experiment.spec, asked.from_step):
        return refused
    if asked.key and (made := experiments.created_by(db, asked.key)):
        return _made_before(*made, experiment.spec)
    if refused := check_service(db, experiment, force=asked.force):
        return refused
    if asked.origin is not None and not experiments.is_present(db, asked.origin):
        return no_experiment(asked.origin)
    carried_out = with_descendants(experiment.spec.steps, asked.from_step) if asked.from_step is not None else ()
    experiment_id, run_ids = creation.create(
        db,
        experiment,
        key=asked.key,
        owner=asked.owner,
        origin_id=asked.origin,
        force=asked.force,
        carried_out=carried_out,
    )
    return Accepted(experiment_id, run_ids, find_warnings(experiment))


def _check_step(spec: ExperimentSpec, name: str | None) -> Refused | None:
    """Refuse the name of a step that the experiment does not have."""
    names = [step.name for step in spec.steps]
    if name is None or name in names:
        return None
    why = unknown_step(name, names) if names else "the experiment has no steps"
    return invalid("no step to begin at", "from_step", why)


def _made_before(experiment: Experiment, run_ids: list[int], spec: ExperimentSpec) -> Accepted | Refused:
    # read again, since a version of this service may have stored it that had fewer fields
    before = ExperimentSpec.from_stored(experiment.spec)
    if not is_same(before.model_dump(mode="json"), spec.model_dump(mode="json")):
        return conflict(f"experiment {experiment.id} was made with this Idempotency-Key, and it is another")
    return Accepted(experiment.id, run_ids, [])
