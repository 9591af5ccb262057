"""The record of what the collective `auto` chose for a run: one collective for each range of vector sizes."""

from pydantic import Field

from contract.folder.bounds import MAX_NOTES, MAX_RANKS, Finite, Int4, Int8
from contract.folder.record import FolderRecord
from contract.spec.choices.collectives import ResolvedCollective


class MeasuredLink(FolderRecord):
    """The measured latency and rate of a link between two ranks."""

    latency_s: Finite = Field(examples=[2e-05])
    """Latency of a message, in seconds."""
    rate: Finite = Field(examples=[1.25e9])
    """Bytes per second, in one direction."""


class CollectiveChoice(FolderRecord):
    """The collective for vectors of `from_bytes` bytes or more, up to the next choice's `from_bytes`."""

    from_bytes: Int8 = Field(examples=[65536])
    """Smallest size of the vectors, in bytes."""
    collective: ResolvedCollective
    """The collective, with its shape."""


class CollectiveChoices(FolderRecord):
    """All choices of a run. A later attempt uses the same choices, so that its sums are bit-identical."""

    hosts: list[Int4] = Field(max_length=MAX_RANKS, examples=[[4, 4]])
    """Number of ranks on each host."""
    inside: MeasuredLink | None
    """Link between ranks of one host; null if no host has two ranks or nothing was measured."""
    between: MeasuredLink | None
    """Link between two hosts; null with one host or if nothing was measured."""
    choices: list[CollectiveChoice] = Field(max_length=MAX_NOTES)
    """The choices, from the smallest vectors to the largest."""
