"""`python -m scheduler worker | clock | close | preview | doctor`: ticks, Celery beat, shutdown, dry run, doctor."""

import sys
from contextlib import suppress

from contract.api.cluster_report import ClusterReport
from contract.process_settings import read_process_settings
from contract.spec.experiment import ExperimentSpec
from scheduler.app import make_app
from scheduler.context import Context
from scheduler.doctor.examine import run_checks
from scheduler.submit.dry_run import describe_submissions
from scheduler.ticks.shutdown import shut_down

QUIET = ["--loglevel", "WARNING"]


def main(arguments: list[str]) -> None:
    """Carry out one command with the settings of this process."""
    settings = read_process_settings()
    match arguments:
        case ["worker"]:
            try:
                context = Context.of(settings)
            except ValueError as error:  # now, and not in each tick
                sys.exit(str(error))
            if context.slurm_absence:
                print(f"Slurm is not used: {context.slurm_absence}", file=sys.stderr, flush=True)
            make_app(settings).worker_main(["worker", *QUIET, "--without-gossip", "--without-mingle"])
        case ["clock"]:
            make_app(settings).start(["beat", *QUIET, "--pidfile="])
        case ["close"]:
            shut_down(Context.of(settings))
        case ["preview"]:
            spec, _, report = sys.stdin.read().partition(
                "\n"
            )  # a line of JSON each; the cluster's own where one is known
            known = ClusterReport.model_validate_json(report) if report else None
            with suppress(BrokenPipeError):  # `| head` has seen enough
                for line in describe_submissions(ExperimentSpec.model_validate_json(spec), settings, known):
                    print(line, flush=True)
        case ["doctor", *words]:
            with suppress(BrokenPipeError):
                for check in run_checks(settings, words):
                    print(check.model_dump_json(), flush=True)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
