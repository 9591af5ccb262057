"""`python -m lab.fake_slurm FOLDER make | up | env | fault | clear | set`; what befalls jobs: `hold`, `requeue`..."""

import argparse
import os
import signal
import sys
from dataclasses import fields
from pathlib import Path

from lab.fake_slurm import faults as mishaps
from lab.fake_slurm import programs
from lab.fake_slurm.errors import SlurmError
from lab.fake_slurm.job_runner import Carrier
from lab.fake_slurm.state import Settings, Stage


def main(words: list[str] | None = None) -> int:
    """Carry out one command; `up` carries jobs until it is ended."""
    asked = _parser().parse_args(words)
    folder: Path = asked.folder.absolute()
    if asked.verb == "make":
        Stage.make(folder, Settings(**{field.name: getattr(asked, field.name) for field in fields(Settings)}))
        programs.write(folder)
        return 0
    stage = Stage(folder)
    match asked.verb:
        case "up":
            _up(stage)
        case "env":
            print(f"export PATH={folder / 'bin'}{os.pathsep}$PATH")
        case "fault":
            stage.switch(asked.command, asked.fault, asked.times)
        case "clear":
            stage.db.execute("DELETE FROM faults")
        case "set":
            stage.number(asked.name)  # a name that there is
            stage.set(asked.name, asked.value)
        case verb:
            return _befall(stage, verb, asked)
    return 0


def _befall(stage: Stage, verb: str, asked: argparse.Namespace) -> int:
    try:
        with stage.alone():
            match verb:
                case "hold":
                    mishaps.hold(stage, asked.job)
                case "release":
                    mishaps.release(stage, asked.job)
                case "requeue":
                    mishaps.requeue(stage, asked.job)
                case "preempt":
                    mishaps.preempt(stage, asked.job)
                case "fail-host":
                    mishaps.fail_host(stage, asked.host)
                case "mend-hosts":
                    mishaps.mend_hosts(stage)
    except SlurmError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _up(stage: Stage) -> None:
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))
    signal.signal(signal.SIGINT, lambda number, _: ended.append(number))
    print("up", flush=True)
    Carrier(stage).carry(lambda: not ended)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab.fake_slurm", description="A stand-in for Slurm, with faults.")
    parser.add_argument("folder", type=Path, help="what the stand-in knows lies here")
    verbs = parser.add_subparsers(dest="verb", required=True)
    make = verbs.add_parser("make", help="a new cluster without jobs")
    for field in fields(Settings):
        kind = float if isinstance(field.default, float) else int
        make.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default)
    verbs.add_parser("up", help="carry jobs out, as processes of this machine, until this is ended")
    verbs.add_parser("env", help='for a shell: eval "$(python -m lab.fake_slurm FOLDER env)"')
    fault = verbs.add_parser("fault", help="switch a fault on: lab/fake_slurm/README.md lists them")
    fault.add_argument("command")
    fault.add_argument("fault")
    fault.add_argument("--times", type=int, default=0, help="for so many calls; 0: until it is cleared")
    verbs.add_parser("clear", help="switch all faults off")
    for verb in ("hold", "release", "requeue", "preempt"):
        verbs.add_parser(verb).add_argument("job")
    verbs.add_parser("fail-host", help="a host is gone, and its jobs with it").add_argument("host")
    verbs.add_parser("mend-hosts")
    change = verbs.add_parser("set", help="a setting of `make`, or next_id: Slurm gives ids again")
    change.add_argument("name")
    change.add_argument("value", type=float)
    return parser


if __name__ == "__main__":
    sys.exit(main())
