"""Tests of reports, alike on both databases: parts, their order, deletion with undo, and the files."""

import base64
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, update

from contract.api.saved.reports import MAX_BLOCKS
from store.session import transaction
from store.tables.base import now
from store.tables.saved import Report, ReportBlockRow

IMAGE = "data:image/svg+xml;base64," + base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg'/>").decode()
PICTURE = {
    **{"kind": "picture", "title": "Loss by step", "image": IMAGE, "csv": "run,step,loss\n1,1,2.5\n"},
    **{"run_ids": [1], "address": "/compare?runs=1"},
}
TEXT = {"kind": "text", "markdown": "**Result**: <script>alert(1)</script> [a](javascript:alert(1))"}
RUNS = {"kind": "runs", "title": "The runs", "run_ids": [1, 99], "columns": ["batch", "best(heldout_accuracy)"]}


@pytest.fixture
def report(both: TestClient) -> int:
    """A report with a text, a table of runs and a picture."""
    answer = both.post("/api/v1/reports", json={"title": "Large <batches>"}, headers={"Bigbatch-User": "ada"})
    assert answer.status_code == 201, answer.text
    report_id = int(answer.json()["id"])
    for content in (TEXT, RUNS, PICTURE):
        assert add(both, report_id, content).status_code == 201
    return report_id


def add(client: TestClient, report_id: int, content: Any) -> Any:
    return client.post(f"/api/v1/reports/{report_id}/blocks", json={"content": content})


def kinds(client: TestClient, report_id: int) -> list[str]:
    content = client.get(f"/api/v1/reports/{report_id}").json()["content"]
    return [block["content"]["kind"] for block in content]


def test_parts_are_ordered_and_removed(both: TestClient, report: int) -> None:
    first, second, third = [block["id"] for block in both.get(f"/api/v1/reports/{report}").json()["content"]]
    assert both.patch(f"/api/v1/reports/{report}", json={"order": [third, first, second]}).status_code == 200
    assert kinds(both, report) == ["picture", "text", "runs"]
    both.patch(f"/api/v1/reports/{report}", json={"order": [second, third]})
    assert kinds(both, report) == ["runs", "picture"]
    assert add(both, report, TEXT).status_code == 201
    assert kinds(both, report) == ["runs", "picture", "text"]
    listed = both.get("/api/v1/reports").json()["reports"]
    assert [(one["title"], one["owner"], one["blocks"]) for one in listed] == [("Large <batches>", "ada", 3)]


def test_a_text_is_replaced_and_a_picture_is_not(both: TestClient, report: int) -> None:
    text, _, picture = [block["id"] for block in both.get(f"/api/v1/reports/{report}").json()["content"]]
    path = f"/api/v1/reports/{report}/blocks"
    new = {"kind": "text", "markdown": "Other words."}
    assert both.put(f"{path}/{text}", json=new).json()["content"] == new
    assert both.put(f"{path}/{picture}", json=new).status_code == 404
    assert both.put(f"/api/v1/reports/77/blocks/{text}", json=new).status_code == 404


@pytest.mark.ring("all")
def test_the_html_file_needs_no_other_file_and_runs_no_script(both: TestClient, report: int) -> None:
    answer = both.get(f"/api/v1/reports/{report}/file")
    assert answer.headers["content-type"].startswith("text/html")
    assert f'filename="report-{report}.html"' in answer.headers["content-disposition"]
    html = answer.text
    assert "<title>Large &lt;batches&gt;</title>" in html
    assert "<script" not in html
    assert 'href="javascript' not in html
    assert IMAGE in html
    assert "1,1,2.5" in html
    assert "<td>1</td><td>queued</td><td>64</td><td></td>" in html
    assert "<td>99</td><td>deleted</td>" in html
    assert "http" not in html.replace("http-equiv", "")


def test_the_markdown_file_has_the_texts_the_table_and_the_data(both: TestClient, report: int) -> None:
    text = both.get(f"/api/v1/reports/{report}/file", params={"format": "md"}).text
    assert text.startswith("# Large <batches>\n\n**Result**")
    assert "| run | state | batch | best(heldout_accuracy) |\n| --- | --- | --- | --- |\n| 1 | queued | 64 |  |" in text
    assert f"![Loss by step]({IMAGE})" in text
    assert "```csv\nrun,step,loss\n1,1,2.5\n```" in text


def test_a_deletion_is_undone_within_a_day_and_not_later(both: TestClient, report: int, engine: Engine) -> None:
    path = f"/api/v1/reports/{report}"
    assert both.patch(path, json={"deleted": True}).json()["deleted_at"] is not None
    assert both.get("/api/v1/reports").json()["reports"] == []
    assert both.patch(path, json={"deleted": False}).json()["deleted_at"] is None
    both.patch(path, json={"deleted": True})
    with transaction(engine) as db:
        db.execute(update(Report).values(deleted_at=now() - timedelta(hours=25)))
    assert both.get(path).status_code == 404
    assert add(both, report, TEXT).status_code == 404
    assert both.post("/api/v1/reports", json={"title": "new"}).status_code == 201
    with transaction(engine) as db:
        assert [one.title for one in db.query(Report)] == ["new"]
        assert db.query(ReportBlockRow).count() == 0


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    "content",
    [
        {"kind": "other"},
        {**PICTURE, "image": "https://elsewhere.example/picture.png"},
        {**PICTURE, "image": "data:text/html;base64,PGI+"},
        {**PICTURE, "address": "https://elsewhere.example"},
        {**RUNS, "run_ids": list(range(501))},
        {**TEXT, "markdown": "a\x00b"},
    ],
)
def test_wrong_parts_are_refused(both: TestClient, content: dict[str, Any]) -> None:
    report_id = both.post("/api/v1/reports", json={"title": "one"}).json()["id"]
    assert add(both, report_id, content).status_code == 422
    assert kinds(both, report_id) == []


def test_a_report_has_a_limit_of_parts(both: TestClient, engine: Engine) -> None:
    report_id = both.post("/api/v1/reports", json={"title": "one"}).json()["id"]
    with transaction(engine) as db:
        db.add_all(ReportBlockRow(report_id=report_id, place=place, content=TEXT) for place in range(MAX_BLOCKS))
    assert add(both, report_id, TEXT).status_code == 409


def test_a_part_that_is_too_large_or_no_json_is_refused(both: TestClient) -> None:
    path = "/api/v1/reports/1/blocks"
    both.post("/api/v1/reports", json={"title": "one"})
    headers = {"content-type": "application/json"}
    assert both.post(path, content=b" " * 8_000_001, headers=headers).status_code == 413
    assert both.post(path, content=b"{", headers=headers).status_code == 400
    assert both.post(path, content=b"{}", headers={"content-type": "application/yaml"}).status_code == 415
