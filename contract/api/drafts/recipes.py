"""The specs that the service offers to begin with."""

from pydantic import Field

from contract.described_model import DescribedModel


class LastTime(DescribedModel):
    """The newest experiment with a recipe's name whose runs are all done."""

    experiment_id: int = Field(examples=[17])
    """Id of the experiment."""
    seconds: float = Field(examples=[14.2])
    """Seconds from the start of its first run to the end of its last one."""


class Recipe(DescribedModel):
    """A spec of the folder `recipes`."""

    name: str = Field(examples=["first-run"])
    """Name of the file, without its suffix."""
    title: str = Field(examples=["first-run"])
    """Name of the experiment."""
    description: str = Field(examples=["Real handwritten digits, a batch of 256 over four ranks of this machine."])
    """What the experiment shows."""
    clusters: list[str] = Field(examples=[["local"]])
    """Where its runs are carried out: `local`, `slurm`."""
    runs: int = Field(examples=[1])
    """Number of runs."""
    ranks: int = Field(examples=[4])
    """The most ranks of a run."""
    text: str = Field(examples=["name: first-run\nbase:\n  batch: 256\n"])
    """The whole file, as YAML."""
    last: LastTime | None
    """How long it took here; null if no experiment with this title is done."""
