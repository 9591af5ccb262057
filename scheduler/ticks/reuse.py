"""The reuse tick: runs that ask for it take the result of a finished run with an equal key, or may be submitted.

It is a tick of its own because large inputs take minutes to hash, and other runs are submitted meanwhile. Many runs are
settled in one transaction: a worker that is killed leaves all of them as they were, or all of them settled.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import NamedTuple

from contract.folder.outputs.content import ContentError
from contract.lifecycle.reuse import Reuse
from contract.reuse.key import reuse_key
from contract.spec.any_run import AnyRun, read_run
from scheduler.artifacts.input_hashes import hash_input
from scheduler.artifacts.restoring import Presence, find_or_restore
from scheduler.context import Context
from scheduler.ticks.plan import plan
from store.artifacts import reuse
from store.artifacts.artifacts import Output
from store.artifacts.contents import with_hashes
from store.artifacts.reuse import Candidate, Checked, WaitingRun
from store.session import snapshot, transaction

MAX_RUNS = 200  # at once
BUDGET_S = 10.0  # after so long the next tick goes on
PART_S = 1.0  # runs that are ready wait no longer for others, whose inputs are hashed or whose outputs are restored
log = logging.getLogger(__name__)


class Read(NamedTuple):
    """A waiting run with the hashes of its inputs."""

    row: WaitingRun
    spec: AnyRun
    inputs: dict[str, str]


def check_waiting_runs(context: Context) -> None:
    """Settle the runs that ask for a finished run's result, and those of the steps that begin because of it.

    A workflow whose steps all have results is done within one tick: the steps do not wait for the tick `plan`.
    """
    until, before = time.monotonic() + BUDGET_S, list[int]()
    while time.monotonic() < until:
        with snapshot(context.engine) as db:
            waiting = reuse.waiting(db, MAX_RUNS)
        ids = [row.id for row in waiting]
        if not waiting or ids == before:  # those that changed in between are read again by the next tick
            return
        before = ids
        for part in _read(context, waiting):
            _settle(context, part)
        plan(context)


def _read(context: Context, waiting: Sequence[WaitingRun]) -> Iterator[list[Read]]:
    """Yield the runs with the hashes of their inputs, in parts that took PART_S."""
    hash_one = cache(lambda path: hash_input(context.engine, path, partial(_note_progress, context)))
    part, until = list[Read](), time.monotonic() + PART_S
    for row in waiting:
        spec = read_run(row.spec)
        try:
            inputs = {name: hash_one(path) for name, path in spec.inputs.items()}
        except (ContentError, OSError) as error:  # the compute nodes may see files that this host does not
            log.warning("the inputs of run %d cannot be hashed, so nothing is taken for it: %s", row.id, error)
            inputs = {}
        part.append(Read(row, spec, inputs))
        if time.monotonic() > until:
            yield part
            part, until = [], time.monotonic() + PART_S
    if part:
        yield part


def _settle(context: Context, part: Sequence[Read]) -> None:
    """Let each run take a finished run's result or be carried out."""
    keys = _keys(context, part)
    wanted = {key for one in part if one.row.reuse is Reuse.WANTED and (key := keys[one.row.id]) is not None}
    with snapshot(context.engine) as db:
        found = reuse.candidates(db, wanted)
    settled, until = list[Checked](), time.monotonic() + PART_S
    has_files = cache(partial(_has_files, context))  # equal runs take the same result
    for one in part:
        key = keys[one.row.id]
        candidates = found.get(key, []) if key and one.row.reuse is Reuse.WANTED else []
        whole = (each for each in candidates if {output.name for output in each.outputs} == set(one.spec.outputs))
        source = next((each.id for each in whole if has_files(each)), None)
        settled.append(Checked(one.row.id, key, one.inputs, source, len(one.spec.outputs)))
        if time.monotonic() > until:
            _store(context, settled)
            settled, until = [], time.monotonic() + PART_S
    _store(context, settled)


def _keys(context: Context, part: Sequence[Read]) -> dict[int, str | None]:
    _note_progress(context)
    with snapshot(context.engine) as db:
        documents = with_hashes(db, [one.row.spec for one in part])
    pairs = zip(part, documents, strict=True)
    return {one.row.id: reuse_key(one.spec, one.inputs, document) for one, document in pairs}


def _store(context: Context, settled: Sequence[Checked]) -> None:
    """Store what was found of runs. A run that changed meanwhile, or whose source has, is read once more."""
    # two transactions, each of which locks its runs in the order of their ids
    others = [one for one in settled if one.source is None]
    others += _take(context, [one for one in settled if one.source is not None])
    if others:
        with transaction(context.engine) as db:
            reuse.mark_checked(db, others)


def _take(context: Context, taking: Sequence[Checked]) -> list[Checked]:
    """Let runs take their results in one transaction; return those whose result cannot be stored, to be carried out."""
    if not taking:
        return []
    try:
        with transaction(context.engine) as db:
            reuse.take_results(db, taking)
    except Exception:
        if len(taking) > 1:  # one faulty run must not hold up the others
            return [refused for one in taking for refused in _take(context, [one])]
        log.exception("run %d cannot take the result of run %d", taking[0].run_id, taking[0].source)
        return [taking[0]._replace(source=None)]
    return []


def _has_files(context: Context, candidate: Candidate) -> bool:
    """Return whether the outputs are there with the stored sizes; mark those that are nowhere.

    Outputs whose files are in the object store alone are restored.
    """
    found = [(output, _find(context, output)) for output in candidate.outputs]
    for output, presence in found:
        if presence is Presence.ABSENT:
            with transaction(context.engine) as db:
                reuse.mark_absent(db, output)
    return all(presence is Presence.THERE for _, presence in found)


def _find(context: Context, output: Output) -> Presence:
    return find_or_restore(context, output, partial(_note_progress, context))


def _note_progress(context: Context) -> None:
    context.memory.note_progress("reuse")
