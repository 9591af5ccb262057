"""Saved views: stored, listed and changed; those that were deleted a day ago are removed."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from contract.api.saved.views import NewView, ViewChange, ViewPage
from store.tables.base import now
from store.tables.saved import SavedView

UNDO = timedelta(days=1)  # for so long a deletion can be undone


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
