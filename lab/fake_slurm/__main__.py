"""The command `python -m lab.fake_slurm FOLDER make | up | env | fault | clear | set | hold | requeue ...`."""

import argparse
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

from lab.fake_slurm import faults, programs
from lab.fake_slurm.errors import SlurmError
from lab.fake_slurm.job_runner import JobRunner
from lab.fake_slurm.state import ClusterState, Settings

JOB_FAULTS: dict[str, Callable[[ClusterState, str], None]] = {
    "hold": faults.hold,
    "release": faults.release,
    "requeue": faults.requeue,
    "start-again": faults.start_again,
    "preempt": faults.preempt,
}


def main(words: list[str] | None = None) -> int:
    """Run one command; `up` runs jobs until SIGTERM or SIGINT."""
    options = _parser().parse_args(words)
    folder: Path = options.folder.absolute()
    if options.verb == "make":
        ClusterState.create(
            folder, Settings(**{field.name: getattr(options, field.name) for field in fields(Settings)})
        )
        programs.write(folder)
        return 0
    cluster = ClusterState(folder)
    match options.verb:
        case "up":
            _up(cluster)
        case "env":
            print(f"export PATH={folder / 'bin'}{os.pathsep}$PATH")
        case "fault":
            cluster.set_fault(options.command, options.fault, options.times)
        case "clear":
            cluster.db.execute("DELETE FROM faults")
        case "set":
            cluster.get_number(options.name)  # raises if there is no such setting
            cluster.set(options.name, options.value)
        case verb:
            return _apply(cluster, verb, options)
    return 0


def _apply(cluster: ClusterState, verb: str, options: argparse.Namespace) -> int:
    try:
        with cluster.transaction():
            if verb in JOB_FAULTS:
                JOB_FAULTS[verb](cluster, options.job)
            elif verb == "fail-host":
                faults.fail_host(cluster, options.host)
            else:
                faults.repair_hosts(cluster)
    except SlurmError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _up(cluster: ClusterState) -> None:
    signals: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: signals.append(number))
    signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    print("up", flush=True)
    JobRunner(cluster).run(lambda: not signals)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab.fake_slurm", description="A fake Slurm with faults.")
    parser.add_argument("folder", type=Path, help="folder of the cluster's state")
    verbs = parser.add_subparsers(dest="verb", required=True)
    make = verbs.add_parser("make", help="create a cluster without jobs")
    for field in fields(Settings):
        kind = float if isinstance(field.default, float) else int
        make.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default)
    verbs.add_parser("up", help="run jobs as processes of this machine until this command is ended")
    verbs.add_parser("env", help='print shell settings: eval "$(python -m lab.fake_slurm FOLDER env)"')
    fault = verbs.add_parser("fault", help="inject a fault: lab/fake_slurm/README.md lists the faults")
    fault.add_argument("command")
    fault.add_argument("fault")
    fault.add_argument("--times", type=int, default=0, help="number of calls; 0: until `clear`")
    verbs.add_parser("clear", help="remove all injected faults")
    for verb in JOB_FAULTS:
        verbs.add_parser(verb).add_argument("job")
    verbs.add_parser("fail-host", help="take a host down with its jobs").add_argument("host")
    verbs.add_parser("mend-hosts", help="bring all hosts back")
    change = verbs.add_parser("set", help="change a setting of `make`, or next_id to make Slurm reuse job ids")
    change.add_argument("name")
    change.add_argument("value", type=float)
    return parser


if __name__ == "__main__":
    sys.exit(main())
