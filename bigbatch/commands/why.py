"""`bigbatch why`: which rank failed first, how, and the line that says so."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.submit import Json
from bigbatch.terminal.output import chosen, counted, print_json, print_table
from contract.api.responses import FailedRun, RunDetail
from contract.lifecycle.failure import Failure, FailureKind, FallView
from contract.lifecycle.state import State

MEANINGS = {  # of a kind, in a sentence about one rank
    FailureKind.OUT_OF_MEMORY: "out of memory",
    FailureKind.COLLECTIVE_TIMEOUT: "collective timeout: it kept the others waiting",
    FailureKind.PYTHON_ERROR: "python error",
    FailureKind.SIGNAL: "signal: its process was killed or crashed",
    FailureKind.WRONG_ENVIRONMENT: "wrong environment: something that the job needs is not there",
    FailureKind.NODE_FAILURE: "node failure: its host failed",
    FailureKind.TIME_LIMIT: "time limit",
    FailureKind.UNKNOWN: "it left and did not say why",
}


def why(
    number: Annotated[int, typer.Argument(metavar="ID", help="The run, or with --experiment the experiment.")],
    experiment: Annotated[bool, typer.Option("--experiment", "-e", help="ID is an experiment's.")] = False,
    *,
    as_json: Json = False,
) -> None:
    """Say why a run failed, or each run of an experiment: the first rank to fail, how, and the line that says so."""
    with Client() as client:
        if experiment:
            client.experiment(number)
            failed = list(client.failures(number))
            print_json(failed) if as_json else _print_all(failed)
            return
        run = client.run(number)
    if as_json:
        print_json(run.failure) if run.failure else print("null")
    else:
        _print_one(run)


def _print_one(run: RunDetail) -> None:
    for lost in run.lost_ranks:
        print(f"rank {lost.rank} is lost since step {lost.step}, in attempt {lost.attempt}; the others went on:")
        print(f"    {lost.reason}")
    if run.failure is None:
        print(f"run {run.id} is {run.state}: {_story(run)}")
        return
    if run.state is not State.FAILED:
        print(f"run {run.id} is {run.state}; attempt {run.failure.attempt} failed:")
    for line in _told(run.failure):
        print(line)


def _story(run: RunDetail) -> str:
    """How a run is of which no failure is to be told, and how the attempts before the present one ended."""
    how = {
        State.QUEUED: run.reason or f"it has not been handed to {run.cluster} yet",
        State.SUBMITTING: f"it is being handed to {run.cluster}",
        State.PENDING: run.reason or f"{run.cluster} has it as job {run.job_id}, and it has said nothing yet",
        State.RUNNING: f"it has taken {run.step} of {run.steps} steps{f'; {run.reason}' if run.reason else ''}",
        State.PAUSED: f"{run.reason or 'it has saved'}; it is queued again once its job has left",
        State.DONE: f"it ended well, at step {run.step} of {run.steps}",
        State.FAILED: run.reason or "nobody can say why",
        State.CANCELLED: run.reason or "it was stopped",
    }[run.state]
    asked = ["it was asked to stop"] if run.stopping else []
    early = [
        f"attempt {one.number} ended early: {one.cause.replace('_', ' ')}"
        for one in run.attempts
        if one.number < run.attempt
    ]
    return "; ".join([how, *asked, *early])


def _told(failure: Failure) -> Iterator[str]:
    rank = "nobody can say which rank" if failure.rank is None else f"rank {failure.rank}"
    host = f" on {failure.host}" if failure.host else ""
    at = f" at {failure.at:%H:%M:%S.%f}"[:-3] + " UTC" if failure.at else ""
    is_missed = failure.round is not None and failure.kind is not FailureKind.PYTHON_ERROR
    missed = f"; the others missed it in round {failure.round} of the collective" if is_missed else ""
    yield f"first to fail: {rank}{host}{at}: {MEANINGS[failure.kind]}{missed}"
    yield f"said by {failure.source}:"
    yield from (f"    {line}" for line in failure.evidence.splitlines())
    others = [fall for fall in failure.falls if fall.rank != failure.rank]
    if failure.at and others:
        yield "then:"
        yield from (f"    {_later(fall, failure)}" for fall in others[:10])


def _later(fall: FallView, failure: Failure) -> str:
    assert failure.at is not None
    return f"+{max(0.0, (fall.at - failure.at).total_seconds()):.3f} s  {fall.reason}"


def words(failure: Failure) -> str:
    """A kind of failure as people say it."""
    return failure.kind.replace("_", " ")


def _print_all(failed: list[FailedRun]) -> None:
    if not failed:
        print("no run of it has failed")
        return
    kinds = Counter(words(run.failure) if run.failure else "never began" for run in failed)
    print(
        f"{counted(len(failed), 'run')} failed: " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    )
    print_table(("run", "values", "step", "kind", "first rank", "evidence"), map(_row, failed))


def _row(run: FailedRun) -> tuple[str, ...]:
    failure = run.failure
    if failure is None:
        return str(run.id), chosen(run.values), str(run.step), "never began", "-", run.reason or ""
    who = "-" if failure.rank is None else f"{failure.rank}{f' on {failure.host}' if failure.host else ''}"
    last = failure.evidence.splitlines()[-1:] or [""]
    return str(run.id), chosen(run.values), str(run.step), words(failure), who, last[0]
