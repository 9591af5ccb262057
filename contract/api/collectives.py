"""Predicted costs of collectives, and their plans, as the API returns them."""

from typing import Annotated, Literal

from pydantic import Field

from contract.described_model import DescribedModel
from contract.folder.auto_choice import CollectiveChoice
from contract.spec.choices.collectives import PlannedCollective

Operation = Literal["all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"]


class PriceView(DescribedModel):
    """The predicted cost of one collective on the requested network."""

    collective: Annotated[PlannedCollective, Field(discriminator="kind")]
    """The collective, with the shape that was evaluated."""
    rounds: int = Field(examples=[14])
    """Number of rounds of sends."""
    segments: int = Field(examples=[4])
    """Number of pipeline segments into which a run cuts the vector."""
    link_bytes: float = Field(examples=[1.75e8])
    """Bytes over the link of the busiest host, in one direction."""
    seconds: float = Field(examples=[0.154])
    """Predicted time of one operation, in seconds."""
    times_bound: float | None = Field(examples=[1.1])
    """`seconds` over `bound_s` of the list; null for one rank, whose bound is 0."""


class PriceList(DescribedModel):
    """The predicted cost of every collective for one size and network, the cheapest first."""

    world: int = Field(examples=[8])
    """Number of ranks: hosts x ranks_per_host."""
    operation: Operation = Field(default="all_reduce", examples=["all_reduce"])
    """What the ranks carry out."""
    bound_s: float = Field(examples=[0.14])
    """Lower bound of the time of any plan of the operation on this network, in seconds."""
    prices: list[PriceView]
    """The collectives, the cheapest first."""
    auto: list[CollectiveChoice]
    """The choices of the collective `auto` on this network, by vector size; empty for other operations."""


class TensorPrice(DescribedModel):
    """The predicted communication of a GPT's forward and backward pass, of one replica on one mesh of ranks."""

    kind: Literal["one_d", "two_d", "three_d"] = Field(examples=["three_d"])
    """How the matrices are cut: over a line, a square or a cube."""
    side: int = Field(examples=[2])
    """Number of ranks on an axis of the mesh."""
    words_per_rank: float = Field(examples=[196608])
    """Numbers of four bytes that a rank sends, the mean over the ranks."""
    collectives: int = Field(examples=[58])
    """Number of collectives that a rank takes part in."""
    seconds: float = Field(examples=[0.021])
    """Predicted time of these collectives, in seconds."""


class TensorPriceList(DescribedModel):
    """The predicted communication of tensor parallelism on every mesh of all ranks, the cheapest first."""

    world: int = Field(examples=[8])
    """Number of ranks: hosts x ranks_per_host."""
    prices: list[TensorPrice]
    """The meshes: a line of all ranks, and a square or a cube if their number is one."""


class RoundView(DescribedModel):
    """The sends of a round, as columns: rank `src` sends `size` chunks from chunk `start` on to rank `dst`."""

    src: list[int] = Field(examples=[[0, 1, 2, 3]])
    """The sending rank of each send."""
    dst: list[int] = Field(examples=[[1, 2, 3, 0]])
    """The receiving rank of each send."""
    start: list[int] = Field(examples=[[0, 1, 2, 3]])
    """The first chunk of each send, from 0."""
    size: list[int] = Field(examples=[[1, 1, 1, 1]])
    """The number of chunks of each send."""
    add: list[bool] = Field(examples=[[True, True, True, True]])
    """Whether the receiver adds the chunks to its own; false: the receiver replaces its own."""


class PlanView(DescribedModel):
    """The plan of a collective: the sends of every round."""

    collective: Annotated[PlannedCollective, Field(discriminator="kind")]
    """The collective, as requested."""
    operation: Operation = Field(examples=["all_reduce"])
    """What the plan does; the chunks of the vector are divided among the ranks in their order."""
    hosts: list[list[int]] = Field(examples=[[[0, 1], [2, 3]]])
    """The ranks of each host."""
    chunks: int = Field(examples=[4])
    """Number of chunks into which the plan divides the vector."""
    rounds: list[RoundView]
    """The rounds in order; a round begins when the round before is complete."""
