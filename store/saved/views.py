"""Saved views: the table, and the removal of those that were deleted a day ago."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Index, String, delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from contract.api.saved.views import NewView, ViewChange, ViewPage
from store.column_types import EnumText
from store.tables import Table, now

UNDO = timedelta(days=1)  # for so long a deletion can be undone


class SavedView(Table):
    """What a page of the dashboard shows, by a name."""

    __tablename__ = "views"
    __table_args__ = (Index("ix_views_page", "page", "name"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    # in the order of code points on both databases
    name: Mapped[str] = mapped_column(String().with_variant(String(collation="C"), "postgresql"))
    page: Mapped[ViewPage] = mapped_column(EnumText(ViewPage))
    query: Mapped[str]  # of the page's address
    owner: Mapped[str] = mapped_column(default="", server_default="")
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)
    deleted_at: Mapped[datetime | None]


def add_view(db: Session, new: NewView, owner: str) -> SavedView:
    """Store a view; remove those whose deletion can no longer be undone."""
    db.execute(delete(SavedView).where(SavedView.deleted_at < now() - UNDO))
    view = SavedView(name=new.name, page=new.page, query=new.query, owner=owner)
    db.add(view)
    db.flush()
    return view


def list_views(db: Session, page: ViewPage | None, limit: int) -> Sequence[SavedView]:
    """Return the views of a page, or of all pages, in the order of their names."""
    query = select(SavedView).where(SavedView.deleted_at.is_(None))
    if page is not None:
        query = query.where(SavedView.page == page)
    return db.scalars(query.order_by(SavedView.name, SavedView.id).limit(limit)).all()


def find_view(db: Session, view_id: int) -> SavedView | None:
    """Return a view, also a deleted one whose deletion can be undone; None if there is none."""
    view = db.get(SavedView, view_id)
    is_gone = view is not None and view.deleted_at is not None and view.deleted_at < now() - UNDO
    return None if is_gone else view


def change_view(view: SavedView, change: ViewChange) -> None:
    """Change a view."""
    if change.name is not None:
        view.name = change.name
    if change.query is not None:
        view.query = change.query
    if change.deleted is not None and change.deleted != (view.deleted_at is not None):
        view.deleted_at = now() if change.deleted else None
    view.updated_at = now()
