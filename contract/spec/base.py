"""The base class of every part of a spec."""

from pydantic import ConfigDict

from contract.described_model import DescribedModel


class Spec(DescribedModel):
    """Part of a spec: frozen, no unknown fields (so a typo is an error), strict types, finite numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
