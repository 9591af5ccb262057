"""What is said of a broker that does not take this service's messages."""

from pathlib import Path

import pytest

from scheduler.broker import broker_problem
from tests.testing.servers import redis_process


@pytest.mark.redis
def test_a_broker_answers_to_its_password_and_a_wrong_one_is_not_printed(tmp_path: Path) -> None:
    with redis_process(tmp_path, password="right") as server:
        assert broker_problem(server.url) is None
        told = broker_problem(server.url.replace("right", "wr0ng"))
    assert told
    assert told.startswith("the broker redis://default:***@127.0.0.1:")
    assert "set BIGBATCH_BROKER" in told
    assert "wr0ng" not in told


@pytest.mark.parametrize("url", ["amqqp://h/", "redis://127.0.0.1:1/x5"])
def test_a_broker_that_cannot_be_addressed_is_a_sentence(url: str) -> None:
    told = broker_problem(url)
    assert told
    assert told.startswith(f"the broker {url} does not answer: ")
    assert "\n" not in told
