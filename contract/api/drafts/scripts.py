"""The batch scripts of a draft."""

from pydantic import Field

from contract.described_model import DescribedModel


class Scripts(DescribedModel):
    """What a submission would hand to the cluster."""

    text: str = Field(examples=["#!/bin/bash\n#SBATCH --nodes=2\n"])
    """Each point of the grid, and the batch scripts, as `bigbatch dry-run` prints them."""
