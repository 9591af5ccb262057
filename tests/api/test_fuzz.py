"""A short campaign of requests made up from the OpenAPI document, on both databases; `make fuzz` runs a long one."""

from pathlib import Path

import pytest
from sqlalchemy import Engine

from contract.settings import Settings
from tests.testing.api import TOKEN
from tests.testing.fuzz import fuzz


@pytest.mark.ring("all")
def test_every_answer_is_as_the_openapi_document_describes_it(tmp_path: Path, engine: Engine) -> None:
    url = engine.url.render_as_string(hide_password=False)
    outcome = fuzz(Settings(home=tmp_path, database=url, token=TOKEN), 200, phases="fuzzing")
    assert outcome.ok, outcome.text
    assert outcome.calls >= 100
