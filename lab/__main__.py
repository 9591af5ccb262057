"""The command: `python -m lab up | down | status | env`."""

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

import lab
from lab import cluster, report
from lab import requirements as needs
from lab.errors import LabError
from lab.layout import Layout
from lab.state_folder import Folder, chosen

DONE, FAILED, CANNOT_RUN_HERE = 0, 1, 2


class Parser(argparse.ArgumentParser):
    """argparse exits with 2, which here means that a test may be skipped; a misspelt option is no reason to skip."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(FAILED, f"{self.prog}: {message}\n")


def main(words: list[str] | None = None) -> int:
    """Carry out one command and return the exit status: 0 done, 1 failed, 2 cannot run here."""
    asked = _parser().parse_args(words)
    verbs: dict[str, Callable[[argparse.Namespace, Folder], int]] = {
        "up": _up,
        "down": _down,
        "status": _status,
        "env": _env,
    }
    try:
        return verbs[asked.verb](asked, chosen())
    except (LabError, ValueError, OSError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return FAILED


def _up(asked: argparse.Namespace, folder: Folder) -> int:
    wanted = Layout(asked.gpu_hosts, asked.knl_hosts, asked.rate, asked.min_job_age, asked.max_array_size)
    if _refused(needs.missing(folder)):
        return CANNOT_RUN_HERE
    cluster.up(wanted, folder)
    return _status(asked, folder)


def _down(asked: argparse.Namespace, folder: Folder) -> int:
    if _refused(needs.missing_rights()):
        return CANNOT_RUN_HERE
    cluster.down(folder)
    return DONE


def _status(asked: argparse.Namespace, folder: Folder) -> int:
    text, healthy = report.describe(folder)
    print(text)
    return DONE if healthy else FAILED


def _env(asked: argparse.Namespace, folder: Folder) -> int:
    if not folder.slurm_conf.exists():
        raise LabError(f"no lab in {folder.root}: python -m lab up")
    print(f"export SLURM_CONF={folder.slurm_conf}")
    return DONE


def _refused(reasons: list[str]) -> bool:
    for reason in reasons:
        print(f"lab: {reason}", file=sys.stderr)
    return bool(reasons)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m lab", description=lab.__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="up|down|status|env")
    up = verbs.add_parser("up", help="bring the cluster up, or repair or re-shape the one that is up")
    up.add_argument("--gpu-hosts", type=int, default=4, metavar="N", help="hosts with 4 CPUs, 4 stand-in GPUs (4)")
    up.add_argument("--knl-hosts", type=int, default=2, metavar="N", help="hosts with 8 CPUs, features knl... (2)")
    up.add_argument("--rate", metavar="RATE", help="shape every link both ways, such as 200mbit (unshaped)")
    up.add_argument("--min-job-age", type=int, default=60, metavar="S", help="finished jobs are known so long (60)")
    up.add_argument("--max-array-size", type=int, default=1001, metavar="N", help="a Slurm's MaxArraySize (1001)")
    verbs.add_parser("down", help="take away everything that up made, jobs and accounting included")
    verbs.add_parser("status", help="daemons and hosts; status 1 unless all are well")
    verbs.add_parser("env", help='print what a shell needs: eval "$(python -m lab env)"')
    return parser


if __name__ == "__main__":
    sys.exit(main())
