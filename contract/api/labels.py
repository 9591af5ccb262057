"""Labels of experiments and runs: requests that change names, notes, tags, owner, project and the archive.

The request for an experiment changes its objective as well.
"""

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from contract.described_model import DescribedModel
from contract.spec.labels import MAX_TAGS, Name, Notes, Owner, Project, Tag
from contract.spec.objective import Objective

Tags = Annotated[list[Tag], Field(max_length=MAX_TAGS, examples=[["baseline", "lars"]])]


class LabelChange(DescribedModel):
    """Changes of labels; a field that is absent or null changes nothing."""

    model_config = ConfigDict(extra="forbid", strict=True)

    notes: Notes | None = Field(default=None, examples=["The loss has a spike at step 900."])
    """New notes, in Markdown."""
    tags: Tags | None = None
    """All tags; they replace the present ones."""
    add_tags: Tags = []
    """Tags to add."""
    remove_tags: Tags = []
    """Tags to remove; a tag that is not there is no error."""
    archived: bool | None = Field(default=None, examples=[True])
    """true: hide it from lists; false: show it in lists again."""


class RunChange(LabelChange):
    """Changes of a run's labels; a field that is absent or null changes nothing."""

    left_out: Annotated[str, Field(max_length=500)] | None = Field(default=None, examples=["the node's disk was full"])
    """Why answers do not count the run; an empty text: they count it again."""


class ExperimentChange(LabelChange):
    """Changes of an experiment's labels; a field that is absent or null changes nothing."""

    name: Name | None = Field(default=None, examples=["torus against ring, repeated"])
    """New name."""
    description: Annotated[str, Field(max_length=10_000)] | None = Field(
        default=None, examples=["All collectives compute the same sums."]
    )
    """New description."""
    owner: Owner | None = Field(default=None, examples=["ada"])
    """New owner."""
    project: Project | None = Field(default=None, examples=["vision"])
    """New project; an empty text: no project."""
    objective: Objective | None = None
    """New objective; the spec stays as it was submitted. That of a search stays."""


class RunLabels(DescribedModel):
    """The labels of a run."""

    id: int = Field(examples=[42])
    """Id of the run."""
    notes: str = Field(examples=["The loss has a spike at step 900."])
    """Notes on the run, in Markdown; may be empty."""
    tags: list[str] = Field(examples=[["baseline"]])
    """Tags of the run, in alphabetical order."""
    archived_at: datetime | None = Field(examples=["2026-11-23T08:00:00Z"])
    """When the run was archived, so that lists hide it; null: it is not archived."""
    left_out: str | None = Field(examples=["the node's disk was full"])
    """Why no answer counts the run; null: answers count it."""
