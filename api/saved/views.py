"""Saved views: list, save, rename, delete with undo."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from api.database import Reading, Writing
from api.errors import NotFound
from api.http.bodies import body_of, describe_body
from api.http.statuses import ACTION, CREATION, ITEM, LIST
from api.parameters import MAX_INTEGER, Limit, UserName
from contract.api.saved.views import NewView, View, ViewChange, ViewPage, Views
from store.saved.views import add_view, change_view, find_view, list_views
from store.tables.saved import SavedView

router = APIRouter(prefix="/views", tags=["views"])
ViewId = Annotated[int, Path(ge=0, le=MAX_INTEGER, description="Id of the view.", examples=[3])]
OfPage = Annotated[ViewPage | None, Query(description="Return only views of this page; without it those of all pages.")]


@router.get("", responses=LIST)
def get_views(db: Reading, page: OfPage = None, limit: Limit = 500) -> Views:
    """Return the saved views, in the order of their names."""
    return Views(views=[_rendered(view) for view in list_views(db, page, limit)])


@router.post(
    "",
    status_code=201,
    responses=CREATION,
    openapi_extra=describe_body(NewView, "The view, as JSON or YAML."),
)
def create_view(
    new: Annotated[NewView, Depends(body_of(NewView, what="the view"))], db: Writing, user: UserName = None
) -> View:
    """Save a view; names may repeat."""
    return _rendered(add_view(db, new, user or ""))


@router.get("/{view_id:id}", responses=ITEM)
def get_view(view_id: ViewId, db: Reading) -> View:
    """Return one view; also a deleted one, for a day."""
    return _rendered(_found(find_view(db, view_id), view_id))


@router.patch(
    "/{view_id:id}",
    responses=ACTION,
    openapi_extra=describe_body(ViewChange, "The changes, as JSON or YAML.", required=False),
)
def patch_view(
    view_id: ViewId,
    change: Annotated[ViewChange, Depends(body_of(ViewChange, what="the change", required=False))],
    db: Writing,
) -> View:
    """Rename a view, change what it shows, delete it, or undo its deletion within a day."""
    view = _found(find_view(db, view_id), view_id)
    change_view(view, change)
    return _rendered(view)


def _found(view: SavedView | None, view_id: int) -> SavedView:
    if view is None:
        raise NotFound(f"there is no view {view_id}")
    return view


def _rendered(view: SavedView) -> View:
    return View(
        id=view.id,
        name=view.name,
        page=view.page,
        query=view.query,
        owner=view.owner,
        updated_at=view.updated_at,
        deleted_at=view.deleted_at,
    )
