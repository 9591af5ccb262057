"""Bodies of requests as models: validated in the endpoint's thread, and described in the OpenAPI document."""

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from api.documents import DOCUMENT_KEY
from api.errors import Invalid
from contract.validation import issues_of

Model = TypeVar("Model", bound=BaseModel)
REFERENCE = "#/components/schemas/{model}"


def body_of(model: type[Model], *, what: str, required: bool = True) -> Callable[[Request], Model]:
    """Return a dependency that reads the body as `model`; `what` names it in the message of an error.

    Without `required` no body is the model without values.
    FastAPI validates a body while all other requests wait, and ten thousand points take a second.
    """

    def read(request: Request) -> Model:
        try:
            return model.model_validate(document_of(request, what=what, required=required))
        except ValidationError as error:
            raise Invalid(f"{what} is not valid", issues_of(error)) from error

    return read


def document_of(request: Request, *, what: str, required: bool = True) -> dict[str, Any]:
    """Return the document of the request; raise Invalid without a body that it must have."""
    document: dict[str, Any] | None = request.scope.get(DOCUMENT_KEY)
    if document is None and required:
        raise Invalid(f"the body is missing: send {what} as JSON or YAML")
    return document or {}


def describe_body(model: type[BaseModel], description: str, *, required: bool = True) -> dict[str, Any]:
    """Return the part of an operation's description that names the model of its body."""
    schema = {"schema": {"$ref": REFERENCE.format(model=model.__name__)}}
    content = {"application/json": schema, "application/yaml": schema}
    return {"requestBody": {"description": description, "required": required, "content": content}}
