"""Migrated databases, each a copy of a template: Alembic runs once in a test process, not once in a test."""

import shutil
from pathlib import Path

import psycopg

from migrations.commands import upgrade
from store.session import engine_for


def migrate_template(url: str) -> str:
    """Migrate the empty database at `url` and leave no connection to the database, so that it can be copied."""
    upgrade(url)
    engine_for(url).dispose()
    return url


def copy_sqlite(template: Path, path: Path) -> str:
    """Copy a migrated SQLite database to `path`; return the copy's URL."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(template, path)
    return f"sqlite:///{path}"


def new_database(url: str, name: str, *, template: str = "") -> str:
    """Create a database on the server of `url`, empty or copied from the database at `template`; return its URL."""
    copied = f' TEMPLATE "{template.rpartition("/")[2]}"' if template else ""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"{copied}'.encode())
    return f"{url.rpartition('/')[0]}/{name}"


def drop_database(url: str) -> None:
    """Drop the PostgreSQL database at `url` and end its connections: a server allows 100 for all tests of a process."""
    server, _, name = url.rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())
