"""Alembic's commands on a database URL, with no ini file."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from store.session import engine_for

HERE = Path(__file__).parent


def upgrade(url: str, revision: str = "head") -> None:
    """Bring the database to `revision`, from nothing if need be."""
    command.upgrade(_config(url), revision)


def downgrade(url: str, revision: str) -> None:
    """Take the database back to `revision`; "base" leaves no table."""
    command.downgrade(_config(url), revision)


def new(url: str, message: str) -> None:
    """Write the migration that leads from the database to the tables."""
    number = len(list((HERE / "versions").glob("*.py"))) + 1
    command.revision(_config(url), message, autogenerate=True, rev_id=f"{number:04}")


def check(url: str) -> None:
    """Raise when the database and the tables differ."""
    command.check(_config(url))


def state(url: str) -> tuple[str, str]:
    """The revision that the database is at ("none" before its first), and the one that it should be at."""
    with engine_for(url).connect() as connection:
        at = MigrationContext.configure(connection).get_current_revision()
    return at or "none", ScriptDirectory.from_config(_config(url)).get_current_head() or "none"


def _config(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(HERE))
    config.set_main_option("path_separator", "os")
    config.attributes["url"] = url
    return config
