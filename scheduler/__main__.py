"""`python -m scheduler check | worker | clock | close | preview | predict | doctor | orphans`: ticks, beat, others."""

import sys
from collections.abc import Callable
from contextlib import suppress

from contract.access.owners import UnsafeFolderError
from contract.access.service_folders import prepare_folders, prepare_home
from contract.process_memory import share_memory_between_threads
from contract.process_settings import read_process_settings
from contract.refusal import refuse
from contract.settings import Settings
from scheduler.celery_app import make_celery
from store.database_state import start_problem

QUIET = ["--loglevel", "WARNING"]


def main(arguments: list[str]) -> None:
    """Carry out one command with the settings of this process."""
    settings = read_process_settings()
    match arguments:
        case ["check"]:
            _check(settings)
        case ["worker"]:
            _prepare(prepare_folders, settings)
            _work(settings)
        case ["clock"]:
            _prepare(prepare_home, settings)
            _refuse_database(settings)
            make_celery(settings).start(["beat", *QUIET, "--pidfile="])
        case ["close"]:
            _prepare(prepare_folders, settings)
            _close(settings)
        case ["preview"]:
            _preview(settings)
        case ["predict"]:
            _predict(settings)
        case ["doctor", *words]:
            _examine(settings, words)
        case ["orphans", *words]:
            _handle_orphans(settings, words)
        case _:
            sys.exit(__doc__)


def _prepare(prepare: Callable[[Settings], None], settings: Settings) -> None:
    """Make the folders of a part of the service; end the process if others can put files into them."""
    try:
        prepare(settings)
    except UnsafeFolderError as error:
        refuse(str(error))


# Each command imports what it needs: the clock, which runs all the time, does without the code of the ticks.


def _check(settings: Settings) -> None:
    from scheduler.broker import broker_problem

    if settings.broker and (problem := broker_problem(settings.broker)):
        refuse(problem)


def _refuse_database(settings: Settings) -> None:
    """End this process if the database does not answer, or is of a version that this one does not know."""
    if problem := start_problem(settings.database_url()):
        refuse(problem)


def _work(settings: Settings) -> None:
    from scheduler.app import make_app
    from scheduler.context import Context

    _refuse_database(settings)
    try:
        context = Context.of(settings)
    except ValueError as error:  # now, and not in each tick
        refuse(str(error))
    if context.slurm_absence:
        print(f"Slurm is not used: {context.slurm_absence}", file=sys.stderr, flush=True)
    share_memory_between_threads()
    make_app(settings).worker_main(["worker", *QUIET, "--without-gossip", "--without-mingle"])


def _close(settings: Settings) -> None:
    from scheduler.context import Context
    from scheduler.shutdown import shut_down

    _refuse_database(settings)
    shut_down(Context.of(settings))


def _preview(settings: Settings) -> None:
    from contract.api.cluster_report import ClusterReport
    from contract.spec.expanded import expand
    from contract.spec.experiment import ExperimentSpec
    from scheduler.submit.dry_run import describe_submissions

    # a line of JSON each; the cluster's own where one is known
    spec, _, report = sys.stdin.read().partition("\n")
    known = ClusterReport.model_validate_json(report) if report else None
    with suppress(BrokenPipeError):  # `| head` has seen enough
        for line in describe_submissions(expand(ExperimentSpec.model_validate_json(spec)), settings, known):
            print(line, flush=True)


def _predict(settings: Settings) -> None:
    from contract.spec.expanded import expand
    from contract.spec.experiment import ExperimentSpec
    from scheduler.submit.predict import predict_starts

    # the database first, whose URL may be a secret that this process's environment lacks
    database, _, spec = sys.stdin.read().partition("\n")
    known = settings.model_copy(update={"database": database})
    for prediction in predict_starts(expand(ExperimentSpec.model_validate_json(spec)), known):
        print(prediction.model_dump_json(), flush=True)


def _examine(settings: Settings, words: list[str]) -> None:
    from scheduler.doctor.examine import run_checks

    with suppress(BrokenPipeError):
        for check in run_checks(settings, words):
            print(check.model_dump_json(), flush=True)


def _handle_orphans(settings: Settings, words: list[str]) -> None:
    from scheduler.context import Context
    from scheduler.orphans.command import handle_orphans

    _refuse_database(settings)
    with suppress(BrokenPipeError):
        for sentence in handle_orphans(Context.of(settings), words):
            print(sentence, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
