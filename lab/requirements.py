"""What the lab needs of a machine, asked before anything is touched; every lack is one sentence."""

import os
import shutil
import sys
from pathlib import Path

from lab import processes
from lab.command import SEARCH_PATH, works
from lab.state_folder import Folder, chosen

PACKAGES = {  # Debian's name: a program that only this package brings
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "slurmdbd": "slurmdbd",
    "slurm-client": "sinfo",
    "munge": "munged",
    "mariadb-server": "mariadbd",
    "iproute2": "tc",
}

SLURM_DAEMONS = ("slurmctld", "slurmd", "slurmdbd")

# All kinds of links and queues that network.py makes, inside a namespace that is gone when the command ends
LINKS_TRIAL = (
    "ip link add name bridge0 type bridge && ip link add name v type veth peer name w && "
    "tc qdisc add dev v root tbf rate 1gbit burst 64kb latency 100ms"
)


def missing(folder: Folder | None = None) -> list[str]:
    """Return why the lab cannot run here, one sentence per reason; an empty list means that it can."""
    reasons = missing_rights()
    if not sys.platform.startswith("linux"):
        return reasons
    reasons += missing_packages(SEARCH_PATH)
    if not reasons:
        reasons += _missing_namespaces()
    return reasons + foreign_slurm(folder or chosen())


def missing_rights() -> list[str]:
    """Return what forbids even to take a lab down."""
    if not sys.platform.startswith("linux"):
        return [f"The lab is made of Linux network namespaces; this is {sys.platform}."]
    if os.geteuid() != 0:
        return ["The lab makes network namespaces and device nodes, which only root may: try with sudo."]
    return []


def missing_packages(search_path: str) -> list[str]:
    """Return a sentence per Debian package whose program is not on the path, then the line that installs them."""
    lacking = [package for package, program in PACKAGES.items() if not shutil.which(program, path=search_path)]
    if not lacking:
        return []
    install = f"apt-get update && apt-get install -y --no-install-recommends {' '.join(lacking)}"
    return [f"The Debian package {package} is not installed." for package in lacking] + [f"To install: {install}"]


def foreign_slurm(folder: Folder, proc: Path = processes.PROC) -> list[str]:
    """Return a sentence per Slurm daemon that is not this lab's: two would fight over cgroups and confuse every user.

    A Slurm inside somebody's container has a network of its own and does not disturb.
    """
    here = processes.network(proc / "self")
    return [
        f"Another Slurm is running on this machine ({process.words[0]}, process {process.pid}): stop it first."
        for process in processes.everyone(proc)
        if process.program in SLURM_DAEMONS
        and process.network == here
        # slurmctld has a child that writes a title of its own over its command line
        and not process.words[0].startswith((folder.program(process.program), "slurmctld:"))
        and not _is_of_a_lab(process.words[0])
    ]


def _is_of_a_lab(program: str) -> bool:
    """Whether it was started by another lab, of another number: these two keep apart."""
    return (Path(program).parents[1] / "layout.json").exists() if len(Path(program).parents) > 1 else False


def _missing_namespaces() -> list[str]:
    if not works("unshare", "--net", "--uts", "true"):
        return ["This machine allows no new network and UTS namespaces (a container needs --privileged for it)."]
    if not works("unshare", "--net", "sh", "-c", LINKS_TRIAL):
        return ["This kernel cannot make a bridge, a veth pair or a tbf queue inside a network namespace."]
    return []
