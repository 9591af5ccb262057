"""What `auto` chose for a run: which collective for which sizes, by which links."""

from pydantic import BaseModel, ConfigDict

from contract.spec.choices.collectives import Chosen


class _Kept(BaseModel):
    """Open to fields of a newer trainer, as events are."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Link(_Kept):
    """A way from rank to rank as it was measured."""

    latency_s: float
    rate: float  # bytes per second


class Choice(_Kept):
    """A collective for vectors of `from_bytes` and more, up to where the next choice begins."""

    from_bytes: int
    collective: Chosen


class Choices(_Kept):
    """All that has to be kept for another attempt to sum to the same bits."""

    hosts: list[int]  # how many ranks are on each
    inside: Link | None  # between ranks of one host; None where no host has two, or nothing was measured
    between: Link | None  # from host to host
    choices: list[Choice]
