"""Saved views: what a page of the dashboard shows, by a name."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from contract.described_model import DescribedModel
from contract.spec.labels import Name


class ViewPage(StrEnum):
    """The pages whose views can be saved."""

    EXPERIMENTS = "experiments"
    RUNS = "runs"
    COMPARE = "compare"


ViewQuery = Annotated[
    str,
    Field(max_length=16_000, pattern=r"^[^\x00-\x20\x7f#]*$", examples=["where=state+%3D+failed&group=batch"]),
]


class NewView(DescribedModel):
    """A view to save."""

    model_config = ConfigDict(extra="forbid")

    name: Name = Field(examples=["failed LARS runs"])
    """Its name."""
    page: ViewPage
    """The page that it shows."""
    query: ViewQuery = ""
    """The query of the page's address, without `?`: it holds what the page shows."""


class ViewChange(DescribedModel):
    """Changes of a view; a field that is absent or null changes nothing."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = Field(default=None, examples=["failed LARS runs"])
    """New name."""
    query: ViewQuery | None = Field(default=None, examples=["where=state+%3D+failed"])
    """New query of the page's address."""
    deleted: bool | None = Field(default=None, examples=[False])
    """true: delete it; false: undo the deletion."""


class View(DescribedModel):
    """A saved view."""

    id: int = Field(examples=[3])
    """Id of the view; `/views/3` of the dashboard opens it."""
    name: str = Field(examples=["failed LARS runs"])
    """Its name."""
    page: ViewPage
    """The page that it shows."""
    query: str = Field(examples=["where=state+%3D+failed&group=batch"])
    """The query of the page's address, without `?`."""
    owner: str = Field(examples=["ada"])
    """Who saved it; empty if the client gave no name."""
    updated_at: datetime = Field(examples=["2026-11-26T12:00:00Z"])
    """When it was saved or changed last."""
    deleted_at: datetime | None = Field(examples=[None])
    """When it was deleted: a deletion can be undone for a day; null: it was not deleted."""


class Views(DescribedModel):
    """Saved views."""

    views: list[View]
    """The views in the order of their names."""
