"""What every part of a spec has in common."""

from pydantic import BaseModel, ConfigDict


class Spec(BaseModel):
    """A part of a document: frozen, closed to unknown fields (a typo is an error), strict about types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
