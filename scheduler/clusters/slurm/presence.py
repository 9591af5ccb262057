"""Whether Slurm's commands of this host belong to a cluster: a laptop may have the commands alone."""

import os
from pathlib import Path

from scheduler.clusters.cluster import NoAnswerError
from scheduler.clusters.rate_limit import Priority
from scheduler.clusters.slurm.commands import Commands

CONFIGURATIONS = (Path("/etc/slurm/slurm.conf"), Path("/etc/slurm-llnl/slurm.conf"))
CONNECTION_VARIABLES = ("SLURM_CONF", "SLURM_CONF_SERVER")
# Slurm's words when there is no file, and no host that the domain names as its server of files
NO_CONFIGURATION = ("could not establish a configuration source", "dns srv lookup failed")


def find_absence(commands: Commands) -> str | None:
    """Return why this host's commands belong to no cluster; None if they do, or if that is not certain.

    A controller that does not answer is no absence: its cluster may be down.
    """
    if any(os.environ.get(name) for name in CONNECTION_VARIABLES) or any(path.exists() for path in CONFIGURATIONS):
        return None
    try:
        result = commands.run("scontrol", "ping", priority=Priority.FOLLOW_UP)
    except NoAnswerError:
        return None
    message = result.message.lower()
    is_absent = result.exit_code and all(words in message for words in NO_CONFIGURATION)
    return "this host has no slurm.conf, and its domain names no Slurm server" if is_absent else None
