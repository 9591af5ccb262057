"""The requirements of the lab on a machine, checked before anything changes; each missing one is one sentence."""

import os
import shutil
import sys
from pathlib import Path

from lab import processes
from lab.command import SEARCH_PATH, succeeds
from lab.state_folder import StateFolder, selected_folder

PACKAGES = {  # Debian package -> a program that only this package contains
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "slurmdbd": "slurmdbd",
    "slurm-client": "sinfo",
    "munge": "munged",
    "mariadb-server": "mariadbd",
    "iproute2": "tc",
}

SLURM_DAEMONS = ("slurmctld", "slurmd", "slurmdbd")

# Create each kind of link and queue of network.py in a namespace that disappears when the command ends.
LINKS_TRIAL = (
    "ip link add name bridge0 type bridge && ip link add name v type veth peer name w && "
    "tc qdisc add dev v root tbf rate 1gbit burst 64kb latency 100ms"
)


def missing(folder: StateFolder | None = None) -> list[str]:
    """Return the reasons why the lab cannot run here, one sentence each; the list is empty if the lab can run."""
    reasons = missing_rights()
    if not sys.platform.startswith("linux"):
        return reasons
    reasons += missing_packages(SEARCH_PATH)
    if not reasons:
        reasons += _missing_namespaces()
    return reasons + find_other_slurm(folder or selected_folder())


def missing_rights() -> list[str]:
    """Return the reasons why not even `down` can run here."""
    if not sys.platform.startswith("linux"):
        return [f"The lab needs Linux network namespaces; this system is {sys.platform}."]
    if os.geteuid() != 0:
        return ["The lab creates network namespaces and device nodes, and only root may do so: try with sudo."]
    return []


def missing_packages(search_path: str) -> list[str]:
    """Return a sentence per Debian package whose program is not on the path, then the command that installs them."""
    absent = [package for package, program in PACKAGES.items() if not shutil.which(program, path=search_path)]
    if not absent:
        return []
    install = f"apt-get update && apt-get install -y --no-install-recommends {' '.join(absent)}"
    return [f"The Debian package {package} is not installed." for package in absent] + [f"To install: {install}"]


def find_other_slurm(folder: StateFolder, proc: Path = processes.PROC) -> list[str]:
    """Return a sentence per Slurm daemon of another installation, which would conflict over cgroups.

    A Slurm in a container has another network namespace and does not conflict.
    """
    here = processes.network_inode(proc / "self")
    return [
        f"Another Slurm is running on this machine ({process.words[0]}, process {process.pid}): stop it first."
        for process in processes.iter_processes(proc)
        if process.program in SLURM_DAEMONS
        and process.network == here
        # slurmctld has a child process that replaces its command line with a title
        and not process.words[0].startswith((folder.program(process.program), "slurmctld:"))
        and not _is_from_a_lab(process.words[0])
    ]


def _is_from_a_lab(program: str) -> bool:
    """Return whether a lab with another number started this program; such labs do not conflict."""
    return (Path(program).parents[1] / "layout.json").exists() if len(Path(program).parents) > 1 else False


def _missing_namespaces() -> list[str]:
    if not succeeds("unshare", "--net", "--uts", "true"):
        return ["This machine does not allow new network and UTS namespaces (a container needs --privileged)."]
    if not succeeds("unshare", "--net", "sh", "-c", LINKS_TRIAL):
        return ["This kernel cannot create a bridge, a veth pair or a tbf queue inside a network namespace."]
    return []
