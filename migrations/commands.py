"""Alembic's commands for a database URL, without an ini file."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from store.database_state import newest_revision
from store.session import engine_for

HERE = Path(__file__).parent


def upgrade(url: str, revision: str = "head") -> None:
    """Upgrade the database to `revision`, from an empty database if necessary."""
    command.upgrade(_config(url), revision)


def downgrade(url: str, revision: str) -> None:
    """Downgrade the database to `revision`; "base" drops all tables."""
    command.downgrade(_config(url), revision)


def new(url: str, message: str) -> None:
    """Write a migration from the database's schema to the schema of store/tables."""
    number = int(newest_revision()) + 1
    command.revision(_config(url), message, autogenerate=True, rev_id=f"{number:04}")


def check(url: str) -> None:
    """Raise an exception if the database and store/tables have different schemas."""
    command.check(_config(url))


def state(url: str) -> tuple[str, str]:
    """Return the database's revision ("none" before the first migration) and the newest revision."""
    with engine_for(url).connect() as connection:
        at = MigrationContext.configure(connection).get_current_revision()
    return at or "none", ScriptDirectory.from_config(_config(url)).get_current_head() or "none"


def _config(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(HERE))
    config.set_main_option("path_separator", "os")
    config.attributes["url"] = url
    return config
