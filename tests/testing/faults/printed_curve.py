"""The curve of a program as its own output shows it, against the curve, restarts and claims that the service has."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from contract.folder.run_folder import RunFolder
from tests.testing.service import Service


class Printed(NamedTuple):
    """What a program printed: the newest loss of each step, and the steps that it repeated at each restart."""

    losses: dict[int, float]
    lost: list[int]


def read_printed(folder: Path, pattern: str) -> Printed:
    """Read the output of all attempts, in which the groups `step` and `loss` of `pattern` are a point."""
    losses: dict[int, float] = {}
    lost, before = [], 0
    for found in re.finditer(pattern, (folder / "out.log").read_text(errors="replace")):
        step = int(found["step"])
        if step <= before:
            lost.append(before - step + 1)
        losses[step], before = float(found["loss"]), step
    return Printed(losses, lost)


def check_curve(service: Service, run: dict[str, Any], pattern: str) -> Iterator[str]:
    """Yield in words what differs: a step that is missing, stored twice or wrong, or wrongly counted lost steps."""
    printed, name = read_printed(Path(run["folder"]), pattern), f"run {run['id']}"
    stored = service.get(f"/runs/{run['id']}/points", name="loss")["series"]["loss"]
    curve = sorted(printed.losses.items())
    if list(zip(stored["steps"], stored["values"], strict=True)) != curve:
        yield f"{name}: {len(stored['steps'])} steps are stored, {len(curve)} were printed, or their losses differ"
    if [step for step, _ in curve] != list(range(1, run["steps"] + 1)):
        yield f"{name}: the program printed {len(curve)} of {run['steps']} steps"
    counted = [restart["lost_steps"] for restart in run["restarts"]]
    if [lost for lost in counted if lost] != printed.lost:
        yield f"{name}: {counted} steps are counted as lost, the program repeated {printed.lost}"
    if len(counted) != run["attempt"] - 1:
        yield f"{name}: {len(counted)} restarts are stored, the run has {run['attempt']} attempts"


def check_claims(run: dict[str, Any]) -> Iterator[str]:
    """Yield in words which attempts have no claim, or share one."""
    claims = claims_of(run)
    if None in claims or len(set(claims)) != run["attempt"]:
        yield f"run {run['id']}: the claims of its {run['attempt']} attempts are {claims}"


def claims_of(run: dict[str, Any]) -> Sequence[str | None]:
    """Return the job that holds each attempt."""
    folder = RunFolder(Path(run["folder"]))
    return [folder.read_claim(attempt) for attempt in range(1, run["attempt"] + 1)]
