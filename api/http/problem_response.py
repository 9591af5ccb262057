"""The response of every error: a problem document (RFC 9457), limited in size."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from api.http.root_path import root_of
from contract.api.problem import Problem
from contract.validation import ValidationIssue

MEDIA_TYPE = "application/problem+json"
MAX_ISSUES = 100  # a longer list does not help a person
MAX_TEXT = 400  # characters of a message or a path, which may repeat a part of the request


class ProblemResponse(Response):
    """A problem document; `instance` is the path of the request that the response is sent to."""

    media_type = MEDIA_TYPE

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        issues: Sequence[ValidationIssue] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._problem = Problem(
            type=f"urn:bigbatch:problem:{code}",
            title=HTTPStatus(status).phrase,
            status=status,
            detail=_detail(detail, len(issues)),
            code=code,
            errors=[
                issue.model_copy(update={"path": _shorten(issue.path), "message": _shorten(issue.message)})
                for issue in issues[:MAX_ISSUES]
            ],
        )
        super().__init__(self._problem.model_dump_json(), status, headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the document with the request's path."""
        located = self._problem.model_copy(update={"instance": _shorten(root_of(scope) + scope["path"])})
        self.body = located.model_dump_json().encode()
        self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


def _detail(text: str, issues: int) -> str:
    left_out = f" ({issues:,} errors, of which the first {MAX_ISSUES} are listed)" if issues > MAX_ISSUES else ""
    return f"{_shorten(text)}{left_out}"


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."
