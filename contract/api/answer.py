"""The answer of an experiment, as the API returns it: its figure over its axes, and one sentence of result."""

from enum import StrEnum

from pydantic import Field

from contract.described_model import DescribedModel


class Picture(StrEnum):
    """The form in which the answer is drawn."""

    SINGLE = "single"  # nothing varies but perhaps the seed
    LINES = "lines"  # one numeric axis, a line for each category
    HEAT_MAP = "heat_map"  # two numeric axes, a map for each category
    BARS = "bars"  # categories alone


class FigureUnit(StrEnum):
    """How a figure is written."""

    SHARE = "share"  # 0 to 1, shown in percent
    SECONDS = "seconds"
    NUMBER = "number"


class AxisScale(StrEnum):
    """The scale on which the values of an axis are evenly spread."""

    LINEAR = "linear"
    LOG2 = "log2"
    LOG10 = "log10"


class AnswerFigure(DescribedModel):
    """A figure of a run that a picture may show."""

    name: str = Field(examples=["best(val_loss)"])
    """Name of the figure: `seconds_to_target`, `step_s`, `run_s`, the name of a series for its newest value, or
    `best(...)` of a series."""
    title: str = Field(examples=["best held-out accuracy"])
    """The name as a part of a sentence."""
    unit: FigureUnit
    """How the figure is written."""
    higher_is_better: bool | None = Field(examples=[True])
    """Whether the highest value is the best one, instead of the lowest; null: neither its name nor the experiment says
    so."""


class AnswerAxis(DescribedModel):
    """A numeric axis of a picture."""

    path: str = Field(examples=["schedule.rate"])
    """Dotted path of the field."""
    name: str = Field(examples=["rate"])
    """Short name of the field."""
    scale: AxisScale
    """The scale of the axis: log2 where each value is a power of two times another."""
    values: list[float] = Field(examples=[[64, 128, 256]])
    """The values, ascending."""


class FigureSpread(DescribedModel):
    """A figure over the runs of a group."""

    count: int = Field(examples=[3])
    """Number of runs with the figure."""
    mean: float = Field(examples=[0.981])
    """Mean over the runs."""
    deviation: float | None = Field(examples=[0.0021])
    """Standard deviation of the sample; null for one run."""
    least: float = Field(examples=[0.979])
    """Lowest value."""
    most: float = Field(examples=[0.983])
    """Highest value."""


class AnswerGroup(DescribedModel):
    """The runs at one place of a picture: they differ in the seed alone."""

    label: str = Field(examples=["torus rows 2"])
    """The line, the map or the bar to which the group belongs; empty where there is one only."""
    x: float | None = Field(examples=[256])
    """Value of the axis `x`; null in a picture without it."""
    y: float | None = Field(examples=[0.4])
    """Value of the axis `y`; null in a picture without it."""
    runs: list[int] = Field(examples=[[42, 43, 44]])
    """Ids of all its runs, in the order of the grid."""
    done: int = Field(examples=[3])
    """Number of runs that are done."""
    diverged: int = Field(examples=[0])
    """Number of runs that diverged; no figure counts them."""
    is_preliminary: bool = Field(examples=[False])
    """Whether no run is done, so that the figures are those of runs that have not ended or were stopped."""
    figure: FigureSpread | None
    """The figure of the picture; null if no run has it."""
    accuracy: FigureSpread | None
    """The best held-out accuracy; null if no run was evaluated."""
    parts: dict[str, float] = Field(examples=[{"compute_s": 0.021, "communication_s": 0.008}])
    """Mean seconds of each part of a step over all steps; empty if no run reports them."""
    to_target: FigureSpread | None
    """Seconds of training until the target accuracy; null if a run that is done did not reach it."""
    speedup: float | None = Field(examples=[1.8])
    """The baseline's seconds to the target divided by those of the group; null without a fair comparison."""
    refusals: list[str] = Field(examples=[["run 2 never reached an accuracy of 90.00 %: its best is 89.00 %"]])
    """Why a speed-up would be misleading, as sentences."""


class LeftOutRun(DescribedModel):
    """A run that a person left out of answers."""

    run: int = Field(examples=[43])
    """Id of the run."""
    reason: str = Field(examples=["the node's disk was full"])
    """Why, in the words of this person."""


class Answer(DescribedModel):
    """The figure of an experiment over its axes."""

    picture: Picture
    """The form of the picture, which follows from the axes."""
    sentence: str = Field(examples=["The best held-out accuracy is highest with batch 256: 98.33 %."])
    """The result in plain words."""
    figure: AnswerFigure | None
    """The figure that is drawn; null if no run has reported one that answers the question."""
    figures: list[AnswerFigure]
    """The figures that can be drawn: values of the parameter `figure`."""
    over: str | None = Field(examples=["seed"])
    """The field that repeats runs, over which means are taken; null without one."""
    x: AnswerAxis | None
    """The horizontal axis; null without a numeric axis."""
    y: AnswerAxis | None
    """The vertical axis of a heat map; null in other pictures."""
    groups: list[AnswerGroup]
    """The places of the picture, in the order of the grid."""
    target: float | None = Field(examples=[0.97])
    """The accuracy to which times are compared, 0 to 1: the requested one, else the highest one that every run which is
    done has reached, if that is close to the best; null without one."""
    baseline: int | None = Field(examples=[0])
    """Index of the group with which speed-ups compare; null without a target."""
    diverged: int = Field(examples=[1])
    """Number of runs that diverged; no mean counts them."""
    failed: int = Field(examples=[0])
    """Number of runs that failed for another reason."""
    archived: int = Field(default=0, examples=[0])
    """Number of archived runs, which no group has; 0 if all runs are archived, whose figures then count."""
    left_out: list[LeftOutRun] = []
    """Runs that a person left out, which no group has."""
    unfinished: int = Field(examples=[2])
    """Number of runs that have not ended."""
    notes: list[str] = Field(examples=[["the baseline has 4 ranks: this is not a speed-up over one rank"]])
    """Facts that a reader must know to interpret the picture."""
