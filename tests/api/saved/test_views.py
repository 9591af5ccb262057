"""Tests of saved views, alike on both databases: save, list, rename, delete, undo."""

from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, update

from store.session import transaction
from store.tables.base import now
from store.tables.saved import SavedView

NEW = {"name": "failed runs", "page": "runs", "query": "where=state+%3D+failed"}


def save(client: TestClient, **fields: str) -> int:
    answer = client.post("/api/v1/views", json={**NEW, **fields}, headers={"Bigbatch-User": "ada"})
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


def names(client: TestClient, page: str | None = None) -> list[str]:
    asked = {} if page is None else {"page": page}
    return [view["name"] for view in client.get("/api/v1/views", params=asked).json()["views"]]


@pytest.mark.ring("all")
def test_views_are_listed_by_name_and_page_with_their_owner(both: TestClient) -> None:
    for name, page in (("b", "runs"), ("a", "compare"), ("Z", "runs")):
        save(both, name=name, page=page)
    assert names(both) == ["Z", "a", "b"]
    assert names(both, "runs") == ["Z", "b"]
    view = both.get("/api/v1/views/1").json()
    assert (view["query"], view["owner"], view["deleted_at"]) == (NEW["query"], "ada", None)


def test_a_view_is_renamed_and_shows_something_else(both: TestClient) -> None:
    view_id = save(both)
    changed = both.patch(f"/api/v1/views/{view_id}", json={"name": "other", "query": "group=batch"}).json()
    assert (changed["name"], changed["query"]) == ("other", "group=batch")
    assert names(both) == ["other"]


def test_a_deletion_is_undone_within_a_day_and_not_later(both: TestClient, engine: Engine) -> None:
    view_id = save(both)
    path = f"/api/v1/views/{view_id}"
    assert both.patch(path, json={"deleted": True}).json()["deleted_at"] is not None
    assert names(both) == []
    assert both.patch(path, json={"deleted": False}).json()["deleted_at"] is None
    assert names(both) == [NEW["name"]]
    assert both.patch(path, json={"deleted": True}).status_code == 200
    with transaction(engine) as db:
        db.execute(update(SavedView).values(deleted_at=now() - timedelta(hours=25)))
    assert both.get(path).status_code == 404
    assert both.patch(path, json={"deleted": False}).status_code == 404
    save(both, name="new")
    with transaction(engine) as db:
        assert [view.name for view in db.query(SavedView)] == ["new"]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    "fields",
    [{"page": "elsewhere"}, {"name": " "}, {"query": "a b"}, {"query": "x" * 16_001}, {"unknown": "1"}],
)
def test_wrong_views_are_refused(both: TestClient, fields: dict[str, str]) -> None:
    assert both.post("/api/v1/views", json={**NEW, **fields}).status_code == 422
    assert names(both) == []
    assert both.get("/api/v1/views/7").status_code == 404
