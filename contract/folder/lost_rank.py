"""Ranks that a run went on without, as its rank 0 wrote them down: replicas survive each other."""

from pydantic import BaseModel, ConfigDict


class LostRank(BaseModel):
    """Open to fields of a newer trainer, as events are."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    attempt: int
    rank: int
    step: int  # of rank 0, when it noticed
    at: float  # seconds since 1970, by the clock of rank 0's host
    reason: str
