"""The options of a plan: every update rule with every collective, with K-FAC, and with tensor parallelism, in order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from contract.api.planning.plans import PlanBatch, PlanOption, PlanRequest
from contract.spec.choices.collectives import PlannedCollective
from contract.spec.choices.rules import Rule, Sync
from study.planner import step_time
from study.planner.memory import KFACBytes

MemoryOf = Callable[[Rule, bool], float | None]  # bytes of a rank with a rule and, or without, K-FAC
Priced = Sequence[tuple[PlannedCollective, float]]  # each collective and its time for all gradients


@dataclass(frozen=True)
class KFACTimes:
    """What K-FAC adds to a synchronous step, as a mean over its steps, and the ratio of the steps without overlap."""

    added_s: float
    ratio: float


@dataclass(frozen=True)
class MeshTimes:
    """A mesh of ranks that share a replica: seconds of the exchanges in a step, and of the sum of the gradients."""

    name: str
    ranks: int
    inside_s: float
    gradient_sum_s: float


@dataclass(frozen=True)
class Extras:
    """What a plan prices beside the update rules; None or empty where the net has no such price."""

    kfac: KFACTimes | None = None
    kfac_bytes: KFACBytes | None = None
    meshes: Sequence[MeshTimes] = ()


def make_options(
    request: PlanRequest,
    step: step_time.StepInputs,
    batch: PlanBatch,
    priced: Priced,
    extras: Extras,
    memory_of: MemoryOf,
) -> list[PlanOption]:
    """Return all options, the fastest first."""
    tree_s = next((seconds for collective, seconds in priced if collective.kind == "tree"), 0.0)
    view = _View(request, step, batch, memory_of)
    found = []
    for rule in step_time.rules():
        if not step_time.uses_collective(rule):
            found.append(view.of_rule(rule, None, step_time.step_s(step, rule, allreduce_s=0.0, tree_s=tree_s)))
            continue
        for collective, allreduce_s in priced:
            seconds = step_time.step_s(step, rule, allreduce_s=allreduce_s, tree_s=tree_s)
            found.append(view.of_rule(rule, collective, seconds))
            if isinstance(rule, Sync) and extras.kfac is not None:
                name = f"{step_time.describe_rule(rule)}, K-FAC"
                memory = memory_of(rule, True)
                found.append(
                    view.named(name, collective, seconds + extras.kfac.added_s, has_kfac=True, memory_bytes=memory)
                )
    for mesh in extras.meshes:
        seconds = step.compute_s + step.fixed_s + mesh.inside_s + mesh.gradient_sum_s
        found.append(view.named(f"sync, {mesh.name}", None, seconds, mesh_ranks=mesh.ranks))
    return sorted(found, key=lambda option: option.step_s)


@dataclass(frozen=True)
class _View:
    """Makes options of one plan."""

    request: PlanRequest
    step: step_time.StepInputs
    batch: PlanBatch
    memory_of: MemoryOf

    def of_rule(self, rule: Rule, collective: PlannedCollective | None, step_s: float) -> PlanOption:
        memory = self.memory_of(rule, False)
        return self.named(step_time.describe_rule(rule), collective, step_s, memory_bytes=memory)

    def named(
        self,
        name: str,
        collective: PlannedCollective | None,
        step_s: float,
        *,
        has_kfac: bool = False,
        mesh_ranks: int = 1,
        memory_bytes: float | None = None,
    ) -> PlanOption:
        epoch_s = step_s * self.batch.steps_per_epoch
        run_s = epoch_s * self.request.epochs
        hours, price = self.step.ranks * run_s / 3600, self.request.device_hour_price
        return PlanOption(
            rule=name,
            collective=collective,
            has_kfac=has_kfac,
            mesh_ranks=mesh_ranks,
            memory_bytes=memory_bytes,
            step_s=step_s,
            exchange_s=max(0.0, step_s - self.step.compute_s - self.step.fixed_s),  # rounding makes it negative
            epoch_s=epoch_s,
            run_s=run_s,
            device_hours=hours,
            cost=None if price is None else hours * price,
        )
