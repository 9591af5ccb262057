"""Where rank 0 of an attempt serves the ranks' store, and the secret that the ranks of the attempt share."""

from pydantic import Field

from contract.folder.record import FolderRecord


class RendezvousPoint(FolderRecord):
    """The address of rank 0's store and the attempt's secret, as 64 hexadecimal digits."""

    host: str
    port: int = Field(ge=1, le=65535)
    secret: str = Field(pattern="^[0-9a-f]{64}$", repr=False)
