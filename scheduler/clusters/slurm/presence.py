"""Whether Slurm's commands of this host belong to a cluster: a laptop may have the commands alone."""

import os
import subprocess
from pathlib import Path

from scheduler.clusters.slurm.commands import command_environment, parse_error_message

CONFIGURATIONS = (Path("/etc/slurm/slurm.conf"), Path("/etc/slurm-llnl/slurm.conf"))
CONNECTION_VARIABLES = ("SLURM_CONF", "SLURM_CONF_SERVER")
# Slurm's words when there is no file, and no host that the domain names as its server of files
NO_CONFIGURATION = ("could not establish a configuration source", "dns srv lookup failed")
TIMEOUT_S = 10  # the search for a server of files asks the name service


def find_absence() -> str | None:
    """Return why this host's commands belong to no cluster; None if they do, or if that is not certain.

    A controller that does not answer is no absence: its cluster may be down.
    """
    if any(os.environ.get(name) for name in CONNECTION_VARIABLES) or any(path.exists() for path in CONFIGURATIONS):
        return None
    command = ("timeout", str(TIMEOUT_S), "scontrol", "--version")  # loads the configuration, and calls no controller
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=command_environment())
    except OSError:
        return None
    message = parse_error_message(done.stderr).lower()
    is_absent = done.returncode != 0 and all(words in message for words in NO_CONFIGURATION)
    return "this host has no slurm.conf, and its domain names no Slurm server" if is_absent else None
