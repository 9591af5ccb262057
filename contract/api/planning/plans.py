"""Plans of training jobs before they run: the request, and the memory, time and cost that follow from it."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from contract.described_model import DescribedModel
from contract.spec.choices.collectives import PlannedCollective
from contract.spec.choices.data import Data
from contract.spec.choices.models import Model
from contract.spec.choices.optimizers import SGD, EngineOptimizer
from contract.spec.choices.preconditioners import KFAC
from contract.spec.choices.rules import Rule, Sync
from contract.spec.numbers import Count

MOST_RANKS = 4096
Positive = Annotated[float, Field(gt=0, le=1e18, allow_inf_nan=False)]
Rate = Annotated[float, Field(ge=1, le=1e15, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)]


class RequestPart(DescribedModel):
    """A part of a request, whose unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")


class PlanNetwork(RequestPart):
    """The hosts, their ranks and their links."""

    hosts: Annotated[int, Field(ge=1, le=MOST_RANKS)] = 2
    """Number of hosts."""
    ranks_per_host: Annotated[int, Field(ge=1, le=MOST_RANKS)] = 4
    """Number of ranks on each host, with one device each."""
    rate: Rate = 1.25e9
    """Rate over the link of a host in each direction, in bytes per second."""
    inside_rate: Rate = 5e9
    """Rate at which a rank sends inside its host, in bytes per second."""
    latency_s: Seconds = 20e-6
    """Latency of a message between two hosts, in seconds."""

    @model_validator(mode="after")
    def _check_ranks(self) -> Self:
        if self.hosts * self.ranks_per_host > MOST_RANKS:
            total = f"{self.hosts} x {self.ranks_per_host} = {self.hosts * self.ranks_per_host:,}"
            raise ValueError(f"{total} ranks are more than the limit of {MOST_RANKS:,}")
        return self


class PlanDevice(RequestPart):
    """The device of each rank: a known one, or its figures."""

    name: str | None = Field(default=None, examples=["v100"], max_length=64)
    """Name of a known device (`GET /plans/devices`); null: the figures below."""
    flops: Positive | None = Field(default=None, examples=[7.1e12])
    """Operations per second that a net reaches on the device; null: an assumed share of the known device's peak."""
    memory_bytes: Positive | None = Field(default=None, examples=[1.6e10])
    """Memory in bytes; null: that of the known device."""

    @model_validator(mode="after")
    def _check_figures(self) -> Self:
        if self.name is None and (self.flops is None or self.memory_bytes is None):
            raise ValueError("a device without a name needs both flops and memory_bytes")
        return self


class Calibration(RequestPart):
    """What was measured with this net and device."""

    samples_per_s: Positive = Field(examples=[367.0])
    """Samples per second that one rank computes, forward and backward, without communication."""
    fixed_s: Seconds = 0.0
    """Seconds of a step that neither grow with its samples nor are communication, such as the update of the weights."""
    source: str = Field(default="", examples=["run 12"], max_length=200)
    """Where the measurement is from."""
    links_source: str = Field(default="", examples=["run 12"], max_length=200)
    """Where the rates and latencies of the request's network were measured; empty: they are assumed."""


class PlanRequest(RequestPart):
    """A training job to plan."""

    model: Model = Field(examples=[{"kind": "resnet50"}])
    """The net."""
    data: Data = Field(
        examples=[
            {"kind": "folder", "path": "/data", "classes": 1000, "train_samples": 1281167, "heldout_samples": 50000}
        ]
    )
    """The data set."""
    optimizer: Annotated[EngineOptimizer, Field(discriminator="kind")] = SGD()
    """The optimizer, whose state takes memory."""
    preconditioner: KFAC | None = Field(default=None, examples=[{"kind": "kfac", "factor_every": 10}])
    """K-FAC as the options with it have it, without its later stages, and in the shown memory; null: the options have
    its defaults, and the shown memory has none."""
    rule: Rule = Sync()
    """The update rule of the shown memory; the options have every rule."""
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    """Number format of forward and backward passes."""
    batch: Count | None = Field(default=None, examples=[8192])
    """Samples per step, over all ranks; null: as many as fit in one pass of every rank, at most 256 a rank."""
    micro_batch: Count | None = Field(default=None, examples=[32])
    """Most samples per pass of a rank; null: as many as fit."""
    epochs: Count = 90
    """Number of passes over the training data."""
    network: PlanNetwork = PlanNetwork()
    """The hosts and their links."""
    device: PlanDevice
    """The device of each rank."""
    calibration: Calibration | None = None
    """A measured throughput, which replaces the assumed one; null: nothing was measured."""
    workspace_bytes: Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)] = 1e9
    """Memory of libraries and their work areas on each device, which is assumed."""
    efficiency: Annotated[float, Field(gt=0, lt=1)] = 0.8
    """Share of linear speed-up that the advised number of ranks must reach."""
    device_hour_price: Positive | None = Field(default=None, examples=[2.5])
    """Price of one device for one hour, in any currency; null: costs are device-hours only."""


class MemoryPart(DescribedModel):
    """One part of a rank's memory."""

    name: Literal[
        "weights",
        "gradients",
        "optimizer",
        "messages",
        "factors",
        "inverses",
        "buffers",
        "activations",
        "input",
        "workspace",
    ]
    """What the memory contains; messages: vectors that the update rule sends; factors and inverses: of K-FAC."""
    bytes: float = Field(examples=[1.02e8])
    """Bytes of the part, with the advised micro-batch."""


class PlanMemory(DescribedModel):
    """The memory of one rank with the rule and the preconditioner of the request; a center of rank 0 is not counted."""

    parts: list[MemoryPart]
    """The parts, whose sum is the memory of a rank."""
    total_bytes: float = Field(examples=[1.1e10])
    """Sum of the parts."""
    device_bytes: float = Field(examples=[1.6e10])
    """Memory of the device."""
    largest_micro_batch: int = Field(examples=[139])
    """Most samples of a pass that fit; 0: not one fits."""


class PlanBatch(DescribedModel):
    """The advised batch."""

    batch: int = Field(examples=[8192])
    """Samples per step over all ranks."""
    micro_batch: int = Field(examples=[32])
    """Samples per pass of a rank."""
    passes: int = Field(examples=[4])
    """Passes of a rank per step, whose gradients add up."""
    steps_per_epoch: int = Field(examples=[156])
    """Steps of an epoch."""
    advice: list[str] = Field(examples=[["A batch of 8,192 needs a rule for large batches, such as LARS."]])
    """What to consider about this batch."""


class PlanScaling(DescribedModel):
    """Numbers of ranks and servers by the lemmas of Zou et al. (2017)."""

    overhead: float = Field(examples=[0.1])
    """R: the time of a step that ranks do not divide, over the time in which one rank computes the whole batch."""
    speedup: float = Field(examples=[4.89])
    """Speed-up of the requested ranks by lemma 1."""
    advised_ranks: int = Field(examples=[16])
    """Most ranks whose speed-up by lemma 1 is at least the requested share of linear."""
    servers: int = Field(examples=[3])
    """Fewest parameter servers whose links hide the exchange behind computing, by lemma 2."""


class PlanKFAC(DescribedModel):
    """What K-FAC costs, as a mean over its steps."""

    added_s: float = Field(examples=[0.03])
    """Seconds that K-FAC adds to a synchronous step."""
    ratio: float = Field(examples=[1.2])
    """Time of a step with K-FAC over that of one without, where nothing overlaps."""
    pays_below: float = Field(examples=[0.83])
    """Share of the epochs below which a run with K-FAC is shorter."""


class PlanOption(DescribedModel):
    """The predicted time with one update rule and one collective."""

    rule: str = Field(examples=["sync"])
    """The update rule, perhaps with K-FAC or with a mesh of ranks that share a replica."""
    collective: Annotated[PlannedCollective, Field(discriminator="kind")] | None = Field(examples=[{"kind": "ring"}])
    """The collective; null: the rule has an exchange of its own."""
    has_kfac: bool = Field(examples=[False])
    """Whether the step has K-FAC."""
    mesh_ranks: int = Field(examples=[1])
    """Number of ranks that share a replica by tensor parallelism; 1: every rank has the whole net."""
    memory_bytes: float | None = Field(examples=[1.1e10])
    """Memory of one rank with this option; null for a net without a profile, and for ranks that share a replica."""
    step_s: float = Field(examples=[0.21])
    """Time of a step in seconds."""
    exchange_s: float = Field(examples=[0.04])
    """Part of the step in which a rank waits for the exchange, in seconds."""
    epoch_s: float = Field(examples=[33.0])
    """Time of an epoch in seconds."""
    run_s: float = Field(examples=[2970.0])
    """Time of all epochs in seconds, without evaluations."""
    device_hours: float = Field(examples=[105.6])
    """Hours of all devices together."""
    cost: float | None = Field(examples=[264.0])
    """Device-hours times the price; null without a price."""


class PlanReport(DescribedModel):
    """The plan of a training job."""

    ranks: int = Field(examples=[128])
    """Number of ranks: hosts x ranks_per_host."""
    weights: int = Field(examples=[25557032])
    """Number of weights of the net."""
    sample_flops: float | None = Field(examples=[2.45e10])
    """Operations of forward and backward pass for one sample; null for a net without a profile."""
    samples_per_s: float = Field(examples=[288.0])
    """Samples per second that one rank computes."""
    memory: PlanMemory | None = Field(examples=[None])
    """Memory of one rank; null for a net without a profile."""
    batch: PlanBatch
    """The batch that fits, and its passes."""
    scaling: PlanScaling
    """Numbers of ranks and servers."""
    kfac: PlanKFAC | None = Field(examples=[None])
    """What K-FAC adds to a step; null for a net whose layers have no price."""
    options: list[PlanOption]
    """Every update rule with every collective that it can use, with K-FAC and with tensor parallelism, the fastest
    first."""
    measured: list[str] = Field(examples=[["367 samples/s of one rank (run 12)"]])
    """What of this plan was measured."""
    assumed: list[str] = Field(examples=[["a net reaches 0.45 of the device's float32 peak"]])
    """What of this plan is assumed."""


class DeviceView(DescribedModel):
    """A known device."""

    name: str = Field(examples=["v100"])
    """Name in requests."""
    title: str = Field(examples=["NVIDIA V100 SXM2 16 GB"])
    """Full name."""
    float32_flops: float = Field(examples=[1.57e13])
    """Peak in float32, in operations per second."""
    half_flops: float | None = Field(examples=[1.25e14])
    """Peak in bfloat16 or float16; null without faster 16-bit units."""
    memory_bytes: float = Field(examples=[1.6e10])
    """Memory in bytes."""
    source: str = Field(examples=["NVIDIA's data sheet"])
    """Source of these figures."""
