"""The record of what the collective `auto` chose for a run: one collective for each range of vector sizes."""

from pydantic import Field

from contract.folder.bounds import MAX_NOTES, MAX_RANKS, Finite, Int4, Int8
from contract.folder.record import FolderRecord
from contract.spec.choices.collectives import ResolvedCollective


class MeasuredLink(FolderRecord):
    """The measured latency and rate of a link between two ranks."""

    latency_s: Finite
    rate: Finite  # bytes per second


class CollectiveChoice(FolderRecord):
    """The collective for vectors of `from_bytes` bytes or more, up to the next choice's `from_bytes`."""

    from_bytes: Int8
    collective: ResolvedCollective


class CollectiveChoices(FolderRecord):
    """All choices of a run. A later attempt uses the same choices, so that its sums are bit-identical."""

    hosts: list[Int4] = Field(max_length=MAX_RANKS)  # number of ranks on each host
    inside: MeasuredLink | None  # between ranks of one host; None if no host has two ranks or nothing was measured
    between: MeasuredLink | None  # between two hosts
    choices: list[CollectiveChoice] = Field(max_length=MAX_NOTES)
