"""The base class of the records that a run folder stores."""

from pydantic import BaseModel, ConfigDict


class FolderRecord(BaseModel):
    """Ignore unknown fields, so that an older scheduler can read the records of a newer trainer."""

    model_config = ConfigDict(frozen=True, extra="ignore")
