"""How replicas agree."""

from typing import Annotated, Literal

from pydantic import Field

from contract.base import Spec


class Sync(Spec):
    """Synchronous data-parallel SGD: gradients are averaged over all ranks before every step."""

    kind: Literal["sync"] = "sync"


Rule = Annotated[Sync, Field(discriminator="kind")]
