"""What the service could not read of what a run wrote, as the API returns it."""

from pydantic import Field

from contract.described_model import DescribedModel


class UnreadView(DescribedModel):
    """Counts over all attempts of one run."""

    lines: int = Field(examples=[3])
    """Number of lines of events and points that could not be read."""
    size_bytes: int = Field(examples=[210])
    """Bytes of these lines."""
    folder_gone: bool = Field(examples=[False])
    """Whether the run's folder was gone while its job was there."""
    sentence: str = Field(examples=["3 lines (210 bytes) of the run's files could not be read, and are left out"])
    """The same in words."""
