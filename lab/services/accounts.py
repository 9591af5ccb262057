"""The account of the lab's user, and the limit of that user's jobs."""

from getpass import getuser

from lab.command import run, succeeds
from lab.state_folder import StateFolder

ACCOUNT, QOS = "lab", "normal"  # Slurm's own QOS, which every association has by default


def limit_submitted_jobs(folder: StateFolder, limit: int) -> None:
    """Give this user an association, and let the QOS admit so many of a user's jobs at once."""
    conf = str(folder.slurm_conf)
    # both commands fail where there is nothing to add
    succeeds("sacctmgr", "-i", "add", "account", ACCOUNT, slurm_conf=conf)
    succeeds("sacctmgr", "-i", "add", "user", getuser(), f"account={ACCOUNT}", slurm_conf=conf)
    run("sacctmgr", "-i", "modify", "qos", QOS, "set", f"MaxSubmitJobsPerUser={limit}", slurm_conf=conf)
