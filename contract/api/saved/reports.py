"""Reports: chosen runs, text and pictures with their data, which stay as they are when runs or pages change."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from contract.described_model import DescribedModel
from contract.spec.labels import Name, Notes

MAX_BLOCKS = 200  # of one report
MAX_RUNS = 500  # of one block
RunIds = Annotated[list[Annotated[int, Field(ge=0, le=2**31 - 1)]], Field(max_length=MAX_RUNS, examples=[[12, 15]])]
Column = Annotated[str, Field(min_length=1, max_length=250, pattern=r"^[^\x00]*$")]
Image = Annotated[
    str,
    Field(
        max_length=3_000_000,
        pattern=r"^data:image/(svg\+xml|png);base64,[A-Za-z0-9+/]+={0,2}$",
        examples=["data:image/png;base64,iVBORw0KGgo="],
    ),
]


class ExportedReportFormat(StrEnum):
    """The forms of a report as a file."""

    HTML = "html"
    MARKDOWN = "md"


class TextBlock(DescribedModel):
    """A text."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["text"]
    """Kind of the block."""
    markdown: Notes = Field(examples=["LARS holds up to a batch of **8,192**."])
    """The text, in Markdown; HTML in it is shown as text."""


class RunsBlock(DescribedModel):
    """A table of chosen runs; the figures are those at the time of reading."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["runs"]
    """Kind of the block."""
    title: Name = Field(examples=["The best runs"])
    """Title of the table."""
    run_ids: RunIds
    """Ids of the runs, in the order of the rows."""
    columns: Annotated[list[Column], Field(max_length=60)] = Field(
        default=[], examples=[["batch", "best(heldout_accuracy)"]]
    )
    """Fields of the table of runs."""


class PictureBlock(DescribedModel):
    """A picture as it was, with its data."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["picture"]
    """Kind of the block."""
    title: Name = Field(examples=["Training loss by step"])
    """Title of the picture."""
    image: Image
    """The picture as a data address: SVG or PNG."""
    csv: Annotated[str, Field(max_length=4_000_000, pattern=r"^[^\x00]*$")] = Field(
        default="", examples=["run,step,loss\n12,1,2.3\n"]
    )
    """Its data as comma-separated values; may be empty."""
    run_ids: RunIds = []
    """Ids of the runs that it shows."""
    address: Annotated[str, Field(max_length=16_000, pattern=r"^(/[^\x00-\x20\x7f]*)?$")] = Field(
        default="", examples=["/compare?runs=12,15"]
    )
    """The page of the dashboard that showed it; may be empty."""


NewBlock = Annotated[TextBlock | RunsBlock | PictureBlock, Field(discriminator="kind")]


class AddedBlock(DescribedModel):
    """A block to add at the end of a report."""

    model_config = ConfigDict(extra="forbid")

    content: NewBlock
    """The block."""


class ReportBlock(DescribedModel):
    """A block of a report."""

    id: int = Field(examples=[5])
    """Id of the block."""
    content: NewBlock
    """The block."""


class NewReport(DescribedModel):
    """A report to begin."""

    model_config = ConfigDict(extra="forbid")

    title: Name = Field(examples=["Large batches of LARS"])
    """Its title."""


class ReportChange(DescribedModel):
    """Changes of a report; a field that is absent or null changes nothing."""

    model_config = ConfigDict(extra="forbid")

    title: Name | None = Field(default=None, examples=["Large batches of LARS"])
    """New title."""
    order: Annotated[list[int], Field(max_length=MAX_BLOCKS)] | None = Field(default=None, examples=[[7, 5]])
    """Ids of all blocks in their new order; blocks that are left out are removed."""
    deleted: bool | None = Field(default=None, examples=[False])
    """true: delete it; false: undo the deletion."""


class ReportView(DescribedModel):
    """A report in a list."""

    id: int = Field(examples=[3])
    """Id of the report; `/reports/3` of the dashboard shows it."""
    title: str = Field(examples=["Large batches of LARS"])
    """Its title."""
    owner: str = Field(examples=["ada"])
    """Who began it; empty if the client gave no name."""
    blocks: int = Field(examples=[4])
    """Number of its blocks."""
    updated_at: datetime = Field(examples=["2026-11-26T12:00:00Z"])
    """When it was changed last."""
    deleted_at: datetime | None = Field(examples=[None])
    """When it was deleted: a deletion can be undone for a day; null: it was not deleted."""


class Reports(DescribedModel):
    """Reports."""

    reports: list[ReportView]
    """The reports, the newest change first."""


class ReportDetail(ReportView):
    """A report with its blocks."""

    content: list[ReportBlock]
    """The blocks in their order."""
