"""The record of what the collective `auto` chose for a run: one collective for each range of vector sizes."""

from contract.folder.record import FolderRecord
from contract.spec.choices.collectives import ResolvedCollective


class MeasuredLink(FolderRecord):
    """The measured latency and rate of a link between two ranks."""

    latency_s: float
    rate: float  # bytes per second


class CollectiveChoice(FolderRecord):
    """The collective for vectors of `from_bytes` bytes or more, up to the next choice's `from_bytes`."""

    from_bytes: int
    collective: ResolvedCollective


class CollectiveChoices(FolderRecord):
    """All choices of a run. A later attempt uses the same choices, so that its sums are bit-identical."""

    hosts: list[int]  # number of ranks on each host
    inside: MeasuredLink | None  # between ranks of one host; None if no host has two ranks or nothing was measured
    between: MeasuredLink | None  # between two hosts
    choices: list[CollectiveChoice]
