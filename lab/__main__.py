"""The command `python -m lab up | down | status | env`."""

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

import lab
from lab import cluster, report, requirements
from lab.errors import LabError
from lab.layout import Layout
from lab.services import cgroups
from lab.state_folder import StateFolder, selected_folder

DONE, FAILED, CANNOT_RUN_HERE = 0, 1, 2


class Parser(argparse.ArgumentParser):
    """Exit with status 1 on a usage error; argparse's status 2 would mean that a test may be skipped."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(FAILED, f"{self.prog}: {message}\n")


def main(words: list[str] | None = None) -> int:
    """Run one command and return its exit status: 0 done, 1 failed, 2 cannot run on this machine."""
    options = _parser().parse_args(words)
    commands: dict[str, Callable[[argparse.Namespace, StateFolder], int]] = {
        "up": _up,
        "down": _down,
        "status": _status,
        "env": _env,
    }
    try:
        return commands[options.verb](options, selected_folder())
    except (LabError, ValueError, OSError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return FAILED


def _up(options: argparse.Namespace, folder: StateFolder) -> int:
    layout = Layout(
        options.gpu_hosts,
        options.knl_hosts,
        options.rate,
        options.min_job_age,
        options.max_array_size,
        options.max_submit_jobs,
        not options.no_accounting,
        options.limit_memory,
    )
    if _print_reasons(requirements.missing(folder) + (cgroups.missing() if layout.limits_memory else [])):
        return CANNOT_RUN_HERE
    cluster.up(layout, folder)
    status = _status(options, folder)
    if status == DONE:
        print(report.next_steps(folder))
    return status


def _down(options: argparse.Namespace, folder: StateFolder) -> int:
    if _print_reasons(requirements.missing_rights()):
        return CANNOT_RUN_HERE
    cluster.down(folder)
    return DONE


def _status(options: argparse.Namespace, folder: StateFolder) -> int:
    text, is_healthy = report.describe(folder)
    print(text)
    return DONE if is_healthy else FAILED


def _env(options: argparse.Namespace, folder: StateFolder) -> int:
    if not folder.slurm_conf.exists():
        raise LabError(f"no lab in {folder.root}: start one with python -m lab up")
    print(f"export SLURM_CONF={folder.slurm_conf}")
    return DONE


def _print_reasons(reasons: list[str]) -> bool:
    for reason in reasons:
        print(f"lab: {reason}", file=sys.stderr)
    return bool(reasons)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m lab", description=lab.__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="up|down|status|env")
    up = verbs.add_parser("up", help="start the cluster, repair it, or change the rate of its links")
    up.add_argument("--gpu-hosts", type=int, default=4, metavar="N", help="hosts with 4 CPUs and 4 fake GPUs (4)")
    up.add_argument("--knl-hosts", type=int, default=2, metavar="N", help="hosts with 8 CPUs and feature knl (2)")
    up.add_argument("--rate", metavar="RATE", help="rate of every link in both directions, such as 200mbit (unlimited)")
    up.add_argument("--min-job-age", type=int, default=60, metavar="S", help="Slurm's MinJobAge in seconds (60)")
    up.add_argument("--max-array-size", type=int, default=1001, metavar="N", help="Slurm's MaxArraySize (1001)")
    up.add_argument("--max-submit-jobs", type=int, metavar="N", help="MaxSubmitJobsPerUser of the QOS (unlimited)")
    up.add_argument("--no-accounting", action="store_true", help="leave out slurmdbd and its database")
    up.add_argument("--limit-memory", action="store_true", help="kill what needs more memory than its job asked for")
    verbs.add_parser("down", help="remove the cluster with its jobs and its accounting")
    verbs.add_parser("status", help="print daemons and hosts; exit status 1 unless all are healthy")
    verbs.add_parser("env", help='print shell settings: eval "$(python -m lab env)"')
    return parser


if __name__ == "__main__":
    sys.exit(main())
