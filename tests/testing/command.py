"""The command as tests call it, and an API in this process for it."""

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import uvicorn
from sqlalchemy import Engine

from api.app import create_app
from contract.settings import Settings

SPEC = """
name: two rates
base:
  optimizer: {kind: sgd}
  schedule: {kind: constant, rate: 0.05}
  batch: 64
  epochs: 2
axes:
  schedule.rate: [0.05, 0.1]
"""


class Site(NamedTuple):
    url: str
    home: Path
    engine: Engine


class CommandOutput(NamedTuple):
    code: int
    out: str
    err: str


Call = Callable[..., CommandOutput]


class serving:  # noqa: N801 - used as a function
    """An API on a free port, in a thread."""

    def __init__(self, settings: Settings, port: int = 0) -> None:
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port = self._socket.getsockname()[1]
        self._server = uvicorn.Server(uvicorn.Config(create_app(settings), log_level="warning"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})

    def __enter__(self) -> str:
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        return f"http://127.0.0.1:{self.port}"

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
