"""Samplers of a search: how the values of the next trial are chosen."""

from typing import Annotated, Any, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.numbers import Count, Positive

MAX_TRIALS = 10_000
Seed = Annotated[int, Field(ge=0, lt=2**31)]


class RandomSampler(Spec):
    """Draw every trial from the distributions, whatever the results."""

    kind: Literal["random"] = "random"
    seed: Seed = 0
    """Seed of the draws; equal seeds give equal trials."""


class GridSampler(Spec):
    """Take every combination of the values; each parameter is a choice, an integer, or uniform with a step."""

    kind: Literal["grid"] = "grid"


class ListSampler(Spec):
    """Take the points of a list, in its order."""

    kind: Literal["list"] = "list"
    points: Annotated[list[dict[str, Any]], Field(max_length=MAX_TRIALS)] = Field(
        default=[], examples=[[{"schedule.rate": 0.5}, {"schedule.rate": 2.0}]]
    )
    """The points: for each parameter of the space its value."""
    file: Annotated[str, Field(min_length=1, max_length=4096)] | None = Field(default=None, examples=["points.csv"])
    """A file with the points, beside the file of the experiment: CSV, JSON or YAML. The command and the Python client
    read it and send its points; the service itself reads no file."""


class TpeSampler(Spec):
    """Tree-structured Parzen estimator (Bergstra et al., 2011): draw where good trials are dense and bad ones rare."""

    kind: Literal["tpe"] = "tpe"
    seed: Seed = 0
    """Seed of the draws."""
    startup_trials: Count = 10
    """Number of random trials at the start."""
    multivariate: bool = True
    """Whether the parameters are drawn together, so that what depends on two of them is found."""


class CmaEsSampler(Spec):
    """CMA-ES (Hansen and Ostermeier, 2001): adapt a normal distribution over the numbers; choices are drawn alone."""

    kind: Literal["cma_es"] = "cma_es"
    seed: Seed = 0
    """Seed of the draws."""
    startup_trials: Count = 1
    """Number of random trials at the start."""
    population: Annotated[int, Field(ge=2, le=10_000)] | None = Field(default=None, examples=[8])
    """Trials of a generation; null: 4 + 3 ln(number of parameters)."""


class GpSampler(Spec):
    """Gaussian process with expected improvement; for at most some hundred trials."""

    kind: Literal["gp"] = "gp"
    seed: Seed = 0
    """Seed of the draws."""
    startup_trials: Count = 10
    """Number of random trials at the start."""


class PopulationSampler(Spec):
    """Population-based training (Jaderberg et al., 2017): while members train, the worst copy weights of the best.

    A trial is one generation of one member: the base run. After it, a member of the worst part copies weights and
    values of one of the best part, and changes the values; every other member trains on with its own.
    """

    kind: Literal["population"] = "population"
    seed: Seed = 0
    """Seed of the draws."""
    members: Annotated[int, Field(ge=2, le=1000)] = 8
    """Number of members."""
    share: Annotated[float, Field(gt=0, le=0.5)] = 0.2
    """Share of the members that copy, and share of those from which they copy; at least one."""
    factors: Annotated[list[Positive], Field(min_length=1, max_length=10)] = [0.8, 1.2]
    """A member that has copied multiplies each number by one of these, within its bounds; a choice stays."""
    resample: Annotated[float, Field(ge=0, le=1)] = 0.25
    """Probability that a value is drawn anew from its distribution instead."""


Sampler = Annotated[
    RandomSampler | GridSampler | ListSampler | TpeSampler | CmaEsSampler | GpSampler | PopulationSampler,
    Field(discriminator="kind"),
]
