"""What runs have measured for a plan: the speed of a rank, the fixed time of a step, and the links between ranks."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from bigbatch.client import Client
from bigbatch.errors import BigbatchError
from contract.api.planning.calibration import PARTS, StepTimes, calibrate, step_times
from contract.api.planning.plans import Calibration
from contract.folder.auto_choice import CollectiveChoices
from contract.spec.run import RunSpec

LEAST_RATE, LARGEST_RATE = 1.0, 1e15  # that a plan takes; `auto` writes a larger one where no byte takes time


@dataclass(frozen=True)
class Measured:
    """A calibration, and the parameters of the network that were measured, with their source."""

    calibration: Calibration
    links: dict[str, float] = field(default_factory=dict)
    links_source: str = ""

    def on(self, hosts: int, ranks_per_host: int, stated: Collection[str]) -> Calibration:
        """Return the calibration; it names the source of the links if all that the plan uses were measured."""
        between = {"rate", "latency_s"} if hosts > 1 else set()
        used = between | ({"inside_rate"} if ranks_per_host > 1 else set())
        are_measured = used <= self.links.keys() - set(stated)
        return self.calibration.model_copy(update={"links_source": self.links_source if are_measured else ""})


def measure(client: Client, run_ids: Sequence[int], planned: RunSpec) -> Measured:
    """Return what the runs measured; the links are of the last run with collective `auto` on several ranks."""
    times: list[StepTimes] = []
    links: dict[str, float] = {}
    links_source = ""
    for run_id in run_ids:
        detail = client.run(run_id)
        spec = detail.spec
        if not isinstance(spec, RunSpec):
            raise BigbatchError(f"run {run_id} has no measured computing times of a net of this engine")
        if spec.model != planned.model:
            raise BigbatchError(f"run {run_id} trained {spec.model.kind} with other choices than those to plan")
        times.append(_times_of(client, run_id, spec))
        if detail.choices is not None and (found := measured_links(detail.choices)):
            links, links_source = found, f"run {run_id}"
    source = ("run " if len(run_ids) == 1 else "runs ") + ", ".join(map(str, run_ids))
    return Measured(calibrate(times, source=source), links, links_source)


def measured_links(choices: CollectiveChoices) -> dict[str, float]:
    """Return the parameters of a plan's network that `auto` measured at the start of a run."""
    found: dict[str, float] = {}
    if choices.between is not None:
        found |= {"rate": choices.between.rate, "latency_s": choices.between.latency_s}
    if choices.inside is not None:
        found["inside_rate"] = choices.inside.rate
    return {
        name: value if name == "latency_s" else min(max(value, LEAST_RATE), LARGEST_RATE)
        for name, value in found.items()
    }


def _times_of(client: Client, run_id: int, spec: RunSpec) -> StepTimes:
    series = {name: column.values for name, column in client.points(run_id, PARTS).series.items()}
    found = step_times(series, spec.batch_per_rank, period=getattr(spec.rule, "period", 1))
    if found is None:
        raise BigbatchError(f"run {run_id} has no measured computing times of a net of this engine")
    return found
