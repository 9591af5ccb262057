"""A text of a wrong form is refused in words, never by a regular expression."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from bigbatch.cli import main
from contract.pattern_words import PATTERN_WORDS, pattern_words
from contract.settings import Settings
from tests.testing.api import TOKEN, post

PATTERN = re.compile(r'pattern=r?"((?:[^"\\]|\\.)*)"')
SIGNS = re.compile(r"\\x00|\[\^|\^\[|\*\$|\+\$")


def patterns(part: Any) -> Iterator[str]:
    """Yield the patterns of a JSON schema."""
    if isinstance(part, dict):
        if isinstance(part.get("pattern"), str):
            yield part["pattern"]
        yield from part.get("patternProperties", {})
        part = list(part.values())
    for inner in part if isinstance(part, list) else ():
        yield from patterns(inner)


def test_every_pattern_of_the_api_has_words() -> None:
    document = create_app(Settings(token=TOKEN)).openapi()
    assert set(patterns(document)) - PATTERN_WORDS.keys() == set()


@pytest.mark.parametrize("folder", ["api", "contract"])
def test_every_pattern_that_the_code_writes_has_words(folder: str) -> None:
    texts = [path.read_text() for path in (Path(__file__).parents[2] / folder).rglob("*.py")]
    written = {found for text in texts for found in PATTERN.findall(text)}
    assert written - PATTERN_WORDS.keys() == set()


def test_words_have_no_signs_of_a_pattern() -> None:
    assert not [words for words in PATTERN_WORDS.values() if SIGNS.search(words)]
    assert pattern_words("^unknown$") == "expected another form of text"


@pytest.mark.parametrize(
    ("document", "path", "words"),
    [
        ('{"name": "a\\nb", "base": {"kind": "program", "command": "c"}}', "name", "no line breaks"),
        (
            '{"name": "a", "tags": ["a b"], "base": {"kind": "program", "command": "c"}}',
            "tags.0",
            "one word: no spaces",
        ),
        (
            '{"name": "a", "base": {"kind": "program", "command": "c", "parameters": {"a-b": 1}}}',
            "base",
            "a letter or _",
        ),
    ],
)
def test_a_name_of_a_wrong_form_is_refused_in_words(client: TestClient, document: str, path: str, words: str) -> None:
    answer = post(client, document, "application/json")
    assert answer.status_code == 422
    (issue,) = answer.json()["errors"]
    assert issue["path"].startswith(path)
    assert words in issue["message"]
    assert not SIGNS.search(issue["message"])


def test_a_parameter_of_a_wrong_form_is_refused_in_words(client: TestClient) -> None:
    answer = client.get("/api/v1/experiments/1/curves", params={"after": "x"})
    assert answer.status_code == 422
    assert not SIGNS.search(answer.text)


def test_the_command_says_what_a_name_must_be(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["rename", "1", "a\nb"])
    assert "no line breaks" in capsys.readouterr().err
