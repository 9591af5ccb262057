"""The environment of each process of the service: the settings that the process needs, and no others."""

from collections.abc import Mapping
from typing import NamedTuple

from contract.settings import SECRETS, SLURM_TOKEN, setting_of

_RUNS_JOBS = {
    "home",
    "trusted",
    "run_folders",
    "database",
    "runs",
    "snapshots",
    "cache",
    "local",
    "slurm",
    "slurm_python",
    "slurm_setup",
    "local_ranks",
}
_STORE = {"artifact_store", "artifact_store_options"}
_RETENTION = {"points_days", "history_days"}
_MESSAGES = {"notify_hosts", "public_url", "trigger_folders"}
_ADDRESS = {"public_url", "root_path"}
NEEDED: Mapping[str, set[str]] = {
    "migrations": {"home", "database", "runs"},  # a database that was restored is compared with the run folders
    "api": {
        "home",
        "trusted",
        "database",
        "runs",
        "snapshots",
        "token",
        "live_seconds",
        "delete_hours",
        "trigger_folders",
        *_ADDRESS,
        *_STORE,
    },
    "check": {"home", "broker"},
    "clock": {"home", "trusted", "database", "broker"},
    "worker": {*_RUNS_JOBS, *_RETENTION, *_MESSAGES, "broker", "tensorboard", *_STORE},
    "close": _RUNS_JOBS,
}
_CALLS_SLURM = {"worker", "close"}


class ProcessEnvironment(NamedTuple):
    """The environment variables of a process, and the secret settings, which must not be among them."""

    variables: Mapping[str, str]
    secrets: Mapping[str, str]  # by the names of the settings' fields


def environment_of(process: str, environment: Mapping[str, str]) -> ProcessEnvironment:
    """Return what a process of the service gets of this environment."""
    variables, secrets = {}, {}
    for variable, value in environment.items():
        setting = setting_of(variable)
        if setting is None:
            if variable != SLURM_TOKEN or process in _CALLS_SLURM:
                variables[variable] = value
        elif setting in NEEDED[process]:
            if setting in SECRETS:
                secrets[setting] = value
            else:
                variables[variable] = value
    return ProcessEnvironment(variables, secrets)
