"""What the ranks of a run on many-core chips were bound to, as each read it of itself."""

from pydantic import BaseModel, ConfigDict


class _Kept(BaseModel):
    """Open to fields of a newer trainer, as events are."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Binding(_Kept):
    """One rank's: what its kernel says, not what was asked."""

    rank: int
    host: str
    cpus: str  # that it may run on, as the kernel spells them: 0-16,68-84
    threads: int  # it computes with
    memory: str  # its memory policy in the kernel's words: default, prefer:1, interleave:4-5
    notes: list[str]  # what was asked and not done, and why


class Bindings(_Kept):
    """All ranks of one attempt, in their order."""

    attempt: int
    constraint: str | None = None  # the features that its nodes were asked for, in Slurm's words
    ranks: list[Binding]
