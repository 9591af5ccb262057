"""`bigbatch why`: which rank failed first, how, and the line that says so."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.present import chosen, counted, print_json, print_table
from bigbatch.submit import Json
from contract.failure import Failure, FallView
from contract.run import State
from contract.views import FailedRun, RunDetail


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
    if run.failure is None:
        print(f"run {run.id} is {run.state}: {run.reason or 'no attempt at it has failed'}")
        return
    if run.state is not State.FAILED:
        print(f"run {run.id} is {run.state}; attempt {run.failure.attempt} failed:")
    for line in _told(run.failure):
        print(line)


def _told(failure: Failure) -> Iterator[str]:
    rank = "nobody can say which rank" if failure.rank is None else f"rank {failure.rank}"
    host = f" on {failure.host}" if failure.host else ""
    at = f" at {failure.at:%H:%M:%S.%f}"[:-3] + " UTC" if failure.at else ""
    missed = f", missed in round {failure.round} of the collective" if failure.round is not None else ""
    yield f"first to fail: {rank}{host}{at}: {words(failure)}{missed}"
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
