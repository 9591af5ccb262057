"""Many requests at once: none waits for another that waits for it."""

import asyncio
import time
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import Engine

from api.app import create_app
from contract.settings import Settings
from store.session import MOST_CONNECTIONS
from tests.testing.api import SPEC, TOKEN, WITH_TOKEN
from tests.testing.loops import run_in_own_loop

THREADS = 40  # of an event loop, anyio's default
MANY = 3 * (THREADS + MOST_CONNECTIONS)
PATIENCE_S = 20  # less than the 30 s after which SQLAlchemy gives up to wait for a connection
READ, WRITE = ("GET", "/api/v1/experiments/1"), ("PATCH", "/api/v1/experiments/1")


async def answers(app: FastAPI, requests: list[tuple[str, str]]) -> list[int]:
    """Send all requests at once; return the statuses."""
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=WITH_TOKEN) as client:
        found = await client.post("/api/v1/experiments", content=SPEC, headers={"content-type": "application/yaml"})
        assert found.status_code == 201, found.text

        async def ask(method: str, path: str) -> int:
            body = {"notes": "many"} if method == "PATCH" else None
            return (await client.request(method, path, json=body, timeout=60)).status_code

        return await asyncio.gather(*(ask(*request) for request in requests))


@pytest.mark.ring("all")
@pytest.mark.parametrize("writes", [0, 20])
def test_more_requests_than_threads_and_connections_are_answered(tmp_path: Path, engine: Engine, writes: int) -> None:
    """Forces requests that hold all connections while others hold all threads: 165 begin at once."""
    url = engine.url.render_as_string(hide_password=False)
    app = create_app(Settings(home=tmp_path, database=url, token=TOKEN))
    began = time.monotonic()
    found = run_in_own_loop(answers(app, [READ] * (MANY - writes) + [WRITE] * writes))
    assert set(found) == {200}
    assert time.monotonic() - began < PATIENCE_S
