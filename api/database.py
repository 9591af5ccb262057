"""The database as endpoints ask for it: a snapshot to read from, a transaction to write in."""

from collections.abc import Iterator
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy.orm import Session

from store.session import snapshot, transaction


def _reading(request: Request) -> Iterator[Session]:
    with snapshot(request.app.state.engine) as db:
        yield db


def _writing(request: Request) -> Iterator[Session]:
    with transaction(request.app.state.engine) as db:
        yield db


# scope="function": committed before the answer is sent, so a 201 never speaks of what is not stored
Reading = Annotated[Session, Depends(_reading, scope="function")]
Writing = Annotated[Session, Depends(_writing, scope="function")]
