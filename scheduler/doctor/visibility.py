"""Check whether those whom BIGBATCH_RUN_FOLDERS names can look into the folders of new runs."""

import os
import stat
from pathlib import Path
from typing import NamedTuple

from contract.access.owners import group_name
from contract.access.service_folders import ARRAYS
from contract.access.visibility import Visibility
from contract.api.site_check import Check, Grade, failed_check, passed_check
from contract.settings import Settings

ENTER = {Visibility.GROUP: 0o011, Visibility.PUBLIC: 0o001}  # one of these bits lets them enter a folder above
NAME = "run folders"


class _Obstacle(NamedTuple):
    found: str
    advice: str


def check_visibility(settings: Settings) -> Check:
    """Return whether those who may look into run folders can do so."""
    visibility, runs = settings.run_folders, settings.runs_folder()
    if visibility is Visibility.PRIVATE:
        return passed_check("folder", NAME, "private", "nobody else can look into the folders of new runs")
    try:
        obstacle = _find_obstacle(visibility, runs, settings.home_folder())
    except OSError as error:
        obstacle = _Obstacle(f"{runs} cannot be examined: {error.strerror}", "set BIGBATCH_RUNS to a readable folder")
    if obstacle is not None:
        found, means = f"{visibility}, but {obstacle.found}", "those whom BIGBATCH_RUN_FOLDERS names cannot read runs"
        return failed_check("folder", NAME, Grade.WARNING, found=found, means=means, advice=obstacle.advice)
    means = "they can read commands, parameters, variables of the environment, logs and checkpoints of new runs"
    return passed_check("folder", NAME, _shown(visibility, runs), means)


def _find_obstacle(visibility: Visibility, runs: Path, home: Path) -> _Obstacle | None:
    """Return what keeps them from the files of runs, and what to do; may raise OSError."""
    umask = os.umask(0o077)
    os.umask(umask)
    if runs.is_relative_to(home):
        return _Obstacle(f"in {home}, which has mode 0700", "set BIGBATCH_RUNS to a folder outside")
    if closed := umask & visibility.mode & 0o077:
        advice = f"start the service with umask {0o777 & ~visibility.mode:03o}"
        return _Obstacle(f"the umask {umask:03o} takes {closed:03o} from files", advice)
    bits = "g+rx" if visibility is Visibility.GROUP else "go+rx"
    for path in filter(Path.exists, (runs, runs / ARRAYS)):  # one that is not there gets the mode
        mode = stat.S_IMODE(path.stat().st_mode)
        if visibility.mode & ~mode & 0o077:
            return _Obstacle(f"{path} has mode {mode:04o}, which a start never opens", f"run chmod {bits} on {path}")
    for path in filter(Path.exists, runs.resolve().parents):
        mode = stat.S_IMODE(path.stat().st_mode)
        if not mode & ENTER[visibility]:
            advice = f"run chmod {bits.replace('r', '')} on {path}, or set BIGBATCH_RUNS to a folder elsewhere"
            return _Obstacle(f"{runs} is in {path}, which has mode {mode:04o}", advice)
    return None


def _shown(visibility: Visibility, runs: Path) -> str:
    """Return the setting, for a group with its name."""
    if visibility is not Visibility.GROUP or not runs.exists():
        return str(visibility)
    return f"{visibility} {group_name(runs.stat().st_gid)}"
