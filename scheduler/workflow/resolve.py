"""The values of references: figures and runs from the database, then paths and lists from run folders."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from sqlalchemy.orm import Session

from contract.folder.files.untrusted_file import exists
from contract.folder.run_folder import RunFolder
from contract.folder.stored_checkpoints import FOLDER, newest_checkpoint
from contract.spec.steps.reference import Reference, Selection, Wanted
from contract.spec.steps.step import StepSpec
from contract.spec.steps.types import ABSENT, field_of, objective_of
from store.artifacts.artifacts import Output, outputs_of
from store.steps import chosen_runs
from store.steps.chosen_runs import ChosenRun


class NotResolvedError(Exception):
    """A reference has no value, and waiting does not help; the message says why."""


class NotWrittenError(NotResolvedError):
    """A file is absent; a shared file system may show it a moment later."""


class Chosen(NamedTuple):
    """The runs of a reference, with what the database has of them."""

    runs: Sequence[ChosenRun]
    values: Sequence[Any] = ()  # of each run: the figure or the field; nothing where a file is wanted
    files: Sequence["StoredFile | None"] = ()  # of each run: the output or checkpoint as its artifacts have it


class StoredFile(NamedTuple):
    """A file or folder in the folder of a run: of the chosen one, or of one whose result that took."""

    holder: ChosenRun
    path: str


class FolderOf(Protocol):
    """The folder of a run, by its id and key."""

    def __call__(self, run: ChosenRun, /) -> RunFolder: ...


class Stored(NamedTuple):
    """What the database has of the steps that references are about, read at once for all of them."""

    specs: Mapping[str, StepSpec]  # by the names of steps
    ids: Mapping[str, int]
    runs: Mapping[int, Sequence[ChosenRun]]  # by the ids of steps, of which one run or all are wanted
    outputs: Mapping[int, Mapping[str, Output]]  # of these runs


def choose_all(
    db: Session, references: Collection[Reference], specs: Mapping[str, StepSpec], ids: Mapping[str, int]
) -> dict[Reference, Chosen | NotResolvedError]:
    """Return the runs of each reference with their values as far as the database has them, or why there are none."""
    whole = [one for one in references if one.selection in (Selection.ONLY, Selection.ALL)]
    runs = chosen_runs.all_runs(db, {ids[one.step] for one in whole}) if whole else {}
    files = [ids[one.step] for one in whole if one.wanted is Wanted.OUTPUT]
    holders = {run.id for step_id in files for run in runs.get(step_id, ())}
    stored = Stored(specs, ids, runs, outputs_of(db, holders) if holders else {})
    return {reference: _choose(db, reference, stored) for reference in references}


def _choose(db: Session, reference: Reference, stored: Stored) -> Chosen | NotResolvedError:
    try:
        runs = _runs(db, reference, stored)
        if not runs and reference.selection is not Selection.ALL:
            return NotResolvedError(f"{reference.text}: no run of step {reference.step} is done")
        return _with_values(db, reference, runs, stored)
    except NotResolvedError as error:
        return error


def _with_values(db: Session, reference: Reference, runs: Sequence[ChosenRun], stored: Stored) -> Chosen:
    match reference.wanted:
        case Wanted.METRIC:
            return Chosen(runs, _figures(db, reference, runs))
        case Wanted.RUN:
            return Chosen(runs, [run.id for run in runs])
        case Wanted.SPEC:
            return Chosen(runs, _fields(db, reference, runs))
        case Wanted.OUTPUT:
            known = {run.id: stored.outputs[run.id] for run in runs if run.id in stored.outputs}
            return Chosen(runs, files=_outputs(reference, runs, known or outputs_of(db, [run.id for run in runs])))
        case Wanted.CHECKPOINT:
            holders = _holders(db, reference, runs)
            return Chosen(holders, files=_checkpoints(db, holders))
        case Wanted.FOLDER:
            return Chosen(_holders(db, reference, runs))


def value_of(reference: Reference, chosen: Chosen, folder_of: FolderOf) -> Any:
    """Return the value of a reference; it may read run folders, so no transaction waits. Raise NotResolvedError."""
    values = chosen.values or [
        _path(reference, run, file, folder_of)
        for run, file in zip(chosen.runs, chosen.files or [None] * len(chosen.runs), strict=True)
    ]
    return list(values) if reference.selection is Selection.ALL else values[0]


def _runs(db: Session, reference: Reference, stored: Stored) -> Sequence[ChosenRun]:
    step, step_id = stored.specs[reference.step], stored.ids[reference.step]
    match reference.selection:
        case Selection.ALL:
            return stored.runs.get(step_id, ())
        case Selection.ONLY:
            return stored.runs.get(step_id, ())[-1:]
        case Selection.BEST if reference.wanted is Wanted.METRIC or step.size != 1:
            objective = objective_of(reference, step)
            assert objective is not None  # the API has refused the reference
            found = chosen_runs.best_run(db, step_id, objective)
            if found is None and chosen_runs.last_run(db, step_id) is not None:
                raise NotResolvedError(
                    f"{reference.text}: no run of step {step.name} that is done has the metric {objective.metric}"
                )
        case Selection.BEST | Selection.LAST:
            found = chosen_runs.last_run(db, step_id)
    return [] if found is None else [found]


def _figures(db: Session, reference: Reference, runs: Sequence[ChosenRun]) -> list[float | int]:
    if reference.selection is Selection.BEST:
        return [_number(run.figure) for run in runs if run.figure is not None]
    last = chosen_runs.last_values(db, [run.id for run in runs], reference.name)
    if absent := [run.id for run in runs if run.id not in last]:
        more = f" and {len(absent) - 1} others" if len(absent) > 1 else ""
        raise NotResolvedError(f"{reference.text}: run {absent[0]}{more} has no metric {reference.name}")
    return [_number(last[run.id]) for run in runs]


def _number(value: float) -> float | int:
    """Return a whole number as one: a field of a spec that counts takes no fraction."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _fields(db: Session, reference: Reference, runs: Sequence[ChosenRun]) -> list[Any]:
    specs = chosen_runs.specs(db, [run.id for run in runs])
    found = [field_of(specs[run.id], reference.name) for run in runs]
    for run, value in zip(runs, found, strict=True):
        if value is ABSENT:
            raise NotResolvedError(f"{reference.text}: the spec of run {run.id} has no field {reference.name}")
    return found


def _outputs(
    reference: Reference, runs: Sequence[ChosenRun], stored: Mapping[int, Mapping[str, Output]]
) -> list[StoredFile]:
    found = [stored.get(run.id, {}).get(reference.name) for run in runs]
    for run, output in zip(runs, found, strict=True):
        if output is None:
            raise NotResolvedError(f"{reference.text}: run {run.id} has no output {reference.name} any more")
    return [StoredFile(ChosenRun(one.holder_id, one.holder_key), one.path) for one in found if one is not None]


def _holders(db: Session, reference: Reference, runs: Sequence[ChosenRun]) -> list[ChosenRun]:
    """Return the runs in whose folders the files of these runs are."""
    found = chosen_runs.with_files(db, runs)
    if len(found) < len(runs):
        raise NotResolvedError(f"{reference.text}: a run whose result was taken is deleted, and its files with it")
    return found


def _checkpoints(db: Session, runs: Sequence[ChosenRun]) -> list[StoredFile | None]:
    stored = chosen_runs.newest_checkpoints(db, [run.id for run in runs])
    return [StoredFile(*stored[run.id]) if run.id in stored else None for run in runs]


def _path(reference: Reference, run: ChosenRun, file: StoredFile | None, folder_of: FolderOf) -> str:
    folder = folder_of(run).path
    if reference.wanted is Wanted.FOLDER:
        return str(folder)
    if file is not None:
        place = folder_of(file.holder).path
        if not exists(place, file.path):
            raise NotWrittenError(f"{reference.text}: the file {place}/{file.path} of run {run.id} is gone")
        return f"{place}/{file.path}"
    if (newest := newest_checkpoint(folder)) is not None:
        return f"{folder}/{FOLDER}/{newest.name}"
    if exists(folder, FOLDER):  # of a program, which has a format of its own
        return f"{folder}/{FOLDER}"
    raise NotWrittenError(f"{reference.text}: run {run.id} has no checkpoint")
