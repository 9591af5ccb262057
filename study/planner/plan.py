"""The plan of a training job: memory, batch, ranks, servers, time and cost, from a request and prices."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from contract.api.planning.plans import (
    MOST_RANKS,
    PlanBatch,
    PlanKFAC,
    PlanMemory,
    PlanReport,
    PlanRequest,
    PlanScaling,
)
from contract.api.planning.plans import MemoryPart as Part
from contract.spec.checks.model_size import FLOAT_BYTES, ModelSize, model_size_of
from contract.spec.choices.rules import Rule
from study.planner import lemmas, step_time
from study.planner.devices import DEVICES, FLOAT32_SHARE, HALF_SHARE
from study.planner.memory import HALF, KFACBytes, RankMemory, rank_memory
from study.planner.net import NetCosts, net_costs
from study.planner.options import Extras, KFACTimes, Priced, make_options

DEFAULT_BATCH_PER_RANK = 256
LARGE_BATCH = 8192  # Goyal et al. (2017): linear scaling holds accuracy up to here on ImageNet
FEW_STEPS = 40  # of an epoch


class PlanError(ValueError):
    """A request that cannot be planned; `path` is the field that must change."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True)
class _Job:
    """A request with all figures that it implies."""

    request: PlanRequest
    size: ModelSize
    costs: NetCosts | None
    flops: float | None
    memory_bytes: float
    ranks: int

    @property
    def samples_per_s(self) -> float:
        """Samples per second of one rank: measured, else assumed."""
        if self.request.calibration is not None:
            return self.request.calibration.samples_per_s
        assert self.flops is not None
        assert self.costs is not None
        return self.flops / self.costs.flops


def gradient_bytes(request: PlanRequest) -> int:
    """Return the bytes that ranks sum in a step; raise PlanError for a request that cannot be planned."""
    job = _read(request)
    _batch(job, DEFAULT_BATCH_PER_RANK)
    return FLOAT_BYTES * job.size.weights


@dataclass(frozen=True)
class RankShare:
    """What a rank computes in a step: samples, those of a pass, and operations per second, if they are known."""

    samples: float
    micro_batch: int
    passes: int
    flops: float | None


def rank_share(request: PlanRequest, kfac: KFACBytes | None = None) -> RankShare:
    """Return the share of a rank; raise PlanError for a request that cannot be planned."""
    job = _read(request)
    batch = _batch(job, _largest_micro_batch(job, _stated_memory(job, kfac)))
    flops = None if job.costs is None else job.samples_per_s * job.costs.flops
    return RankShare(batch.batch / job.ranks, batch.micro_batch, batch.passes, flops)


def make_plan(request: PlanRequest, priced: Priced, extras: Extras | None = None) -> PlanReport:
    """Return the plan; `priced` has the time of an all-reduce of `gradient_bytes` with each collective."""
    job, extras = _read(request), extras or Extras()
    memory = _stated_memory(job, extras.kfac_bytes)
    largest = _largest_micro_batch(job, memory)
    batch = _batch(job, largest)
    share = batch.batch / job.ranks

    def memory_of(rule: Rule, has_kfac: bool) -> float | None:
        found = _memory(job, rule, extras.kfac_bytes if has_kfac else None)
        return None if found is None else found.total_bytes(batch.micro_batch)

    step = step_time.StepInputs(
        compute_s=share / job.samples_per_s,
        last_pass_s=min(share, batch.micro_batch) / job.samples_per_s,
        size_bytes=FLOAT_BYTES * job.size.weights,
        ranks=job.ranks,
        server_rate=request.network.rate if request.network.hosts > 1 else request.network.inside_rate,
        server_latency_s=request.network.latency_s if request.network.hosts > 1 else 0.0,
        fixed_s=request.calibration.fixed_s if request.calibration is not None else 0.0,
    )
    options = make_options(request, step, batch, priced, extras, memory_of)
    best_sync = next(option for option in options if option.rule == "sync")
    return PlanReport(
        ranks=job.ranks,
        weights=job.size.weights,
        sample_flops=None if job.costs is None else job.costs.flops,
        samples_per_s=job.samples_per_s,
        memory=None if memory is None else _memory_view(memory, job, batch.micro_batch, largest),
        batch=batch,
        scaling=_scaling(job, step, batch, best_sync.exchange_s),
        kfac=None if extras.kfac is None else _kfac_view(extras.kfac),
        options=options,
        measured=_measured(job),
        assumed=_assumed(job, extras),
    )


def _kfac_view(times: KFACTimes) -> PlanKFAC:
    return PlanKFAC(added_s=times.added_s, ratio=times.ratio, pays_below=1 / times.ratio)


def _largest_micro_batch(job: _Job, memory: RankMemory | None) -> int:
    return DEFAULT_BATCH_PER_RANK if memory is None else memory.largest_micro_batch(job.memory_bytes)


def _read(request: PlanRequest) -> _Job:
    device = request.device
    known = DEVICES.get(device.name) if device.name is not None else None
    if device.name is not None and known is None:
        raise PlanError("device.name", f"{device.name} is no known device; known ones are {', '.join(DEVICES)}")
    size, costs = _size(request), net_costs(request.model, request.data)
    if costs is None and request.calibration is None:
        message = f"the operations of {request.model.kind} on this data are not known; state a measured throughput"
        raise PlanError("calibration", message)
    flops = device.flops
    if flops is None and known is not None:
        flops = known.flops(is_half=request.precision != "float32")
    memory_bytes = device.memory_bytes or (known.memory_bytes if known else 0.0)
    ranks = request.network.hosts * request.network.ranks_per_host
    return _Job(request, size, costs, flops, memory_bytes, ranks)


def _size(request: PlanRequest) -> ModelSize:
    size = model_size_of(request.model, request.data)
    if size is None:
        raise PlanError("model", f"the number of weights of {request.model.kind} on this data is not known")
    return size


def _stated_memory(job: _Job, kfac: KFACBytes | None) -> RankMemory | None:
    """Return the memory with the rule and the preconditioner of the request; None for a net without a profile."""
    return _memory(job, job.request.rule, kfac if job.request.preconditioner is not None else None)


def _memory(job: _Job, rule: Rule, kfac: KFACBytes | None) -> RankMemory | None:
    if job.costs is None:
        return None
    return rank_memory(
        job.size,
        job.costs,
        optimizer=job.request.optimizer,
        rule=rule,
        world=job.ranks,
        is_half=job.request.precision != "float32",
        workspace_bytes=job.request.workspace_bytes,
        kfac=kfac,
    )


def _memory_view(memory: RankMemory, job: _Job, micro_batch: int, largest: int) -> PlanMemory:
    activations = micro_batch * (memory.sample_activations + memory.sample_transient)
    parts = [
        Part(name="weights", bytes=memory.weights),
        Part(name="gradients", bytes=memory.gradients),
        Part(name="optimizer", bytes=memory.optimizer),
        Part(name="messages", bytes=memory.messages),
        Part(name="factors", bytes=memory.factors),
        Part(name="inverses", bytes=memory.inverses),
        Part(name="buffers", bytes=memory.buffers),
        Part(name="activations", bytes=activations),
        Part(name="input", bytes=micro_batch * memory.sample_input),
        Part(name="workspace", bytes=memory.workspace),
    ]
    return PlanMemory(
        parts=parts,
        total_bytes=memory.total_bytes(micro_batch),
        device_bytes=job.memory_bytes,
        largest_micro_batch=largest,
    )


def _batch(job: _Job, largest: int) -> PlanBatch:
    request = job.request
    samples = request.data.train_samples
    fitting = 1 << (max(largest, 1).bit_length() - 1)  # the largest power of two, which kernels prefer
    batch = request.batch or min(job.ranks * min(fitting, DEFAULT_BATCH_PER_RANK), max(samples, job.ranks))
    if batch < job.ranks:
        raise PlanError("batch", f"a batch of {batch:,} has no sample for some of the {job.ranks:,} ranks")
    share = ceil(batch / job.ranks)
    micro_batch = min(request.micro_batch or max(largest, 1), share)
    if request.micro_batch is None and micro_batch < share:
        micro_batch = min(fitting, share)
    passes, steps = ceil(share / micro_batch), max(1, samples // batch)
    advice = list(_advice(job, batch, micro_batch, largest, steps))
    return PlanBatch(batch=batch, micro_batch=micro_batch, passes=passes, steps_per_epoch=steps, advice=advice)


def _advice(job: _Job, batch: int, micro_batch: int, largest: int, steps: int) -> Sequence[str]:
    found = []
    if job.costs is not None and micro_batch > largest:
        found.append(
            f"{micro_batch:,} samples a pass do not fit: at most {largest:,} do."
            if largest
            else "Not one sample fits the memory of the device."
        )
    if batch >= LARGE_BATCH:
        found.append(f"A batch of {batch:,} needs a rule for large batches, such as LARS, and a warm-up.")
    if steps < FEW_STEPS:
        found.append(f"An epoch has only {steps:,} steps: expect to need more epochs, or use fewer ranks.")
    return found


def _scaling(job: _Job, step: step_time.StepInputs, batch: PlanBatch, exchange_s: float) -> PlanScaling:
    overhead = exchange_s / (batch.batch / job.samples_per_s)
    return PlanScaling(
        overhead=overhead,
        speedup=lemmas.speedup(job.ranks, overhead),
        advised_ranks=lemmas.most_ranks(overhead, job.request.efficiency, limit=MOST_RANKS),
        servers=lemmas.fewest_servers(step.size_bytes, job.ranks, rate=step.server_rate, compute_s=step.compute_s),
    )


def _measured(job: _Job) -> list[str]:
    calibration = job.request.calibration
    if calibration is None:
        return []
    source = f" ({calibration.source})" if calibration.source else ""
    fixed = f" and {calibration.fixed_s:.4g} s of a step that no sample adds" if calibration.fixed_s else ""
    found = [f"{calibration.samples_per_s:,.4g} samples/s of one rank{fixed}{source}"]
    if calibration.links_source:
        found.append(f"rates and latencies of the links ({calibration.links_source})")
    return found


def _assumed(job: _Job, extras: Extras) -> list[str]:
    request = job.request
    are_links_measured = request.calibration is not None and request.calibration.links_source
    found = [] if are_links_measured else ["the rates and latencies of the links are those of the request"]
    if request.calibration is None and request.device.flops is None:
        is_half = request.precision != "float32"
        share = f"{HALF_SHARE:g} of the 16-bit" if is_half else f"{FLOAT32_SHARE:g} of the float32"
        found.append(f"a net reaches {share} peak of the device, at every batch")
    if job.costs is not None:
        found.append(f"libraries take {request.workspace_bytes / 1e9:g} GB of a device")
        if request.precision != "float32":
            found.append(f"activations take {HALF:g} of their bytes in float32")
        if not job.costs.is_measured:
            found.append("the net's costs are interpolated between measured sizes of images")
    if extras.kfac is not None:
        found.append("eigendecompositions of K-FAC reach 0.1 of the operations per second of the net")
    if extras.meshes:
        found.append("a mesh of n ranks computes a sample n times as fast as one rank, and no exchange is hidden")
    found.append("a step waits for no data, no evaluation and no slower rank")
    return found
