"""The base class of the models that the OpenAPI document describes."""

from pydantic import BaseModel, ConfigDict


class DescribedModel(BaseModel):
    """The text below a field is its description; `examples` of `Field` shows values.

    tests/api/test_openapi.py asserts that every field has a description and an example. A default is an example.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)
