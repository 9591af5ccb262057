"""A command and a service of different versions: what one of them lacks is told with both versions."""

from importlib.metadata import version

import httpx
import pytest

from bigbatch import ApiError, BigbatchError, Client
from tests.testing.api import TOKEN


def answering_as(service: str, status: int, detail: str, *errors: tuple[str, str]) -> Client:
    """A client of a service of another version, which refuses every call but the one for its health."""
    problem = {"type": "urn:x", "title": "x", "status": status, "detail": detail, "code": "x"}
    issues = [{"path": path, "message": message} for path, message in errors]

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/v1/health":
            return httpx.Response(200, json={"ok": True, "version": service})
        return httpx.Response(status, json={**problem, "errors": issues})

    return Client("http://lab.example", TOKEN, transport=httpx.MockTransport(answer))


NO_INTEGER = ("run_id", "input should be a valid integer, unable to parse string as an integer")


@pytest.mark.parametrize(
    ("status", "detail", "errors"),
    [
        (404, "Not Found", []),
        (405, "PATCH is not allowed here; allowed: GET, HEAD", []),
        (422, "the request is not valid", [NO_INTEGER]),
    ],
)
def test_a_call_that_an_older_service_does_not_know_is_told_with_both_versions(
    status: int, detail: str, errors: list[tuple[str, str]]
) -> None:
    with pytest.raises(ApiError) as refused:
        answering_as("0.0.9", status, detail, *errors).field_names()
    own = version("bigbatch")
    assert str(refused.value) == (
        f"the service at http://lab.example has version 0.0.9 and does not know this call of version {own}: "
        "upgrade the service, or install bigbatch==0.0.9 for this command"
    )
    with pytest.raises(ApiError, match=r"install bigbatch==99\.0 for this command") as refused:
        answering_as("99.0", status, detail, *errors).field_names()
    assert "upgrade the service" not in str(refused.value)


def test_a_field_that_a_service_of_another_version_lacks_is_told_with_both_versions() -> None:
    with pytest.raises(ApiError) as refused:
        answering_as("0.0.9", 422, "the experiment is not valid", ("base.later", "unknown field")).run(1)
    assert "has version 0.0.9 and this command" in str(refused.value)
    assert "base.later: unknown field" in str(refused.value)


@pytest.mark.parametrize(("status", "detail"), [(404, "there is no run 7"), (422, "the request is not valid")])
def test_other_refusals_and_those_of_the_same_version_name_no_version(status: int, detail: str) -> None:
    for service in ("0.0.9", version("bigbatch")):
        with pytest.raises(ApiError) as refused:
            answering_as(service, status, detail, ("limit", "at most 500")).run(7)
        assert "version" not in str(refused.value)
    with pytest.raises(ApiError, match="valid integer"):
        answering_as(version("bigbatch"), 422, "the request is not valid", NO_INTEGER).field_names()


def test_an_answer_that_this_version_cannot_read_is_told_with_both_versions() -> None:
    with pytest.raises(BigbatchError, match=r"has version 0\.0\.9, and this command .* cannot read it: upgrade"):
        answering_as("0.0.9", 200, "").run(1)
