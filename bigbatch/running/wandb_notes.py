"""What calls in the shape of wandb's do not do here: each is said once in the log of the run, by rank 0."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from bigbatch.running.environment import read_environment
from bigbatch.running.warning import warn_once

CONFIG = "wandb-config.json"  # in the run's folder
LABELS = ("project", "name", "tags", "notes", "group", "job_type", "entity")  # arguments of init
FILES = "names no output of the run: write into the folder BIGBATCH_RUN_FOLDER, and name outputs in the spec"
NOTES = {
    "log_artifact": FILES,
    "link_artifact": FILES,
    "log_model": FILES,
    "save": FILES,
    "log_code": "stores nothing: the run has the snapshot of its code",
    "watch": "logs no gradients: log their norm as a metric",
    "mark_preempting": "does nothing: Bigbatch sees a preemption, and bigbatch.should_pause tells the script",
}


def say(name: str) -> None:
    """Say what the call of this name does not do, if it is one that a script may rely on."""
    if name in NOTES and _is_first_rank():
        warn_once(f"wandb {name}", f"wandb.{name} {NOTES[name]}")


def say_labels(given: Mapping[str, Any]) -> None:
    """Say which labels among the arguments of `init` label nothing."""
    labels = [name for name in LABELS if given.get(name)]
    if labels and _is_first_rank():
        ways = "bigbatch run has --name, --project, --tag and --description, and bigbatch tag --run labels a run"
        warn_once("wandb labels", f"wandb.init does not label the run with {', '.join(labels)}: {ways}")


def say_alert(title: Any, text: Any) -> None:
    """Write an alert into the log, and say that it goes nowhere else."""
    if _is_first_rank():
        warn_once(f"wandb alert {title}", f"alert: {title}: {text}")
        warn_once("wandb alert", "wandb.alert writes into this log alone: bigbatch notify sends messages about runs")


def keep_config(config: Mapping[str, Any], parameters: Mapping[str, Any]) -> None:
    """Write the values that are no parameters of the run into a file of its folder, and say so; raise nothing."""
    own = {name: value for name, value in config.items() if name not in parameters}
    folder = read_environment().folder
    if not own or folder is None or not _is_first_rank():
        return
    try:
        with open(os.path.join(folder, CONFIG), "w", encoding="utf-8") as file:
            json.dump(own, file, indent=2, default=repr)
    except Exception as error:
        warn_once("wandb config", f"wandb's config could not be written ({type(error).__name__}: {error})")
        return
    names = ", ".join(map(str, list(own)[:5])) + (", ..." if len(own) > 5 else "")
    ways = "to sort and filter by them, make them parameters: bigbatch run --sweep lr=0.1 -- ... {lr}"
    warn_once("wandb config", f"wandb's config ({names}) is in the run's file {CONFIG}; {ways}")


def _is_first_rank() -> bool:
    environment = read_environment()
    return environment.folder is not None and environment.rank == 0
