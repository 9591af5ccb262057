"""The service's settings: environment variables that start with BIGBATCH_."""

import json
import os
import re
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from contract.access.owners import Owners
from contract.access.visibility import Visibility
from contract.shown_address import unclear_address
from contract.user_home import DEFAULT_HOME, expand_user
from contract.validation import issues_of

PREFIX = "BIGBATCH_"  # of every setting's environment variable
SECRETS = frozenset({"token", "database", "broker", "artifact_store_options"})  # settings that no job may read
SLURM_TOKEN = "SLURM_JWT"  # environment variable with which Slurm's commands sign in
SNAPSHOTS = ".snapshots"  # folder below the run folders, by default
MIN_TOKEN_LENGTH = 32
RESTORED = "restored"  # a file in a home that was made of a backup, until its first start
Days = Annotated[int | None, Field(ge=1, le=36_500)]  # unset: for ever
ROOT_PATH = re.compile(r"(/[A-Za-z0-9._~%@-]+)+")
# first parts of the paths of the dashboard's pages (web/src/app/App.tsx)
PAGES = frozenset(
    {
        *("automation", "clusters", "collectives", "compare", "deleted", "experiments", "new", "plan", "reports"),
        *("runs", "views"),
    }
)
# and of all own paths: where a proxy cuts the root off, nothing tells /runs/7 from /7 below /runs
OWN_PATHS = PAGES | {"api", "assets", "metrics", "sign-in", "sign-out"}
DATABASES = re.compile(r"sqlite(\+pysqlite)?://|postgresql(\+psycopg)?://")
MAKE_TOKEN = "make one with `openssl rand -hex 32`"


def setting_of(variable: str) -> str | None:
    """Return the name of the setting that an environment variable sets, in letters of any case; None without one."""
    name = variable.lower()
    return name.removeprefix(PREFIX.lower()) if name.startswith(PREFIX.lower()) else None


class Settings(BaseSettings):
    """All settings; the defaults suit one laptop."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, env_ignore_empty=True, hide_input_in_errors=True)

    home: Path = Field(default=Path(DEFAULT_HOME), description="folder of the database, the run folders and the broker")
    database: str = Field(default="", description="SQLAlchemy URL; empty: SQLite in the home folder")
    broker: str = Field(default="", description="Redis URL; empty: a file broker in the home folder")
    runs: Path | None = Field(default=None, description="folder of the run folders, shared with the compute nodes")
    snapshots: Path | None = Field(
        default=None, description="folder of code snapshots: the API writes, the scheduler reads and removes"
    )
    cache: Path | None = Field(default=None, description="folder of generated data sets")
    token: str = Field(
        default="",
        description="secret that every request must contain; empty: the service makes one in the home folder",
    )
    trusted: Annotated[list[str], NoDecode] = Field(
        default=[],
        description="users and @groups besides root that may own or write the service's folders and those above,"
        " separated by commas",
    )
    run_folders: Visibility = Field(
        default=Visibility.PRIVATE, description="who may look into run folders: private, group or public"
    )
    local: bool = Field(default=True, description="start local runs on this machine")
    slurm: bool | None = Field(
        default=None, description="submit to Slurm; unset: if sbatch is on PATH and belongs to a cluster"
    )
    slurm_python: str = Field(default="", description="Python on the compute nodes; empty: the scheduler's Python")
    slurm_setup: Annotated[list[str], NoDecode] = Field(
        default=[], description="shell lines at the start of every job, separated by ';;'"
    )
    local_ranks: int = Field(
        default=0, ge=0, description="maximum of concurrent ranks on this machine; 0: number of cores"
    )
    live_seconds: float = Field(
        default=0.25,
        ge=0,
        le=60,
        description="seconds between two reads of the database while a page is open; 0: pages poll instead",
    )
    points_days: Days = Field(default=None, description="days after a run's end until its points are removed")
    history_days: Days = Field(
        default=None, description="days after a run's end until its history loses the entries of waiting"
    )
    delete_hours: int = Field(
        default=24, ge=0, le=8760, description="hours for which a deletion of experiments and runs can be undone"
    )
    tensorboard: Path | None = Field(
        default=None, description="folder in which the scheduler writes TensorBoard's event files of all runs"
    )
    artifact_store: str = Field(
        default="", description="URL of the object store that gets a copy of every artifact; empty: no copies"
    )
    artifact_store_options: str = Field(
        default="", description="JSON object with the credentials and options of that store, as fsspec takes them"
    )

    notify_hosts: Annotated[list[str], NoDecode] = Field(
        default=[],
        description="hosts and networks that messages may go to besides public addresses, separated by commas",
    )
    trigger_folders: Annotated[list[Path], NoDecode] = Field(
        default=[], description="folders below which schedules may follow files, separated by commas"
    )
    public_url: str = Field(default="", description="address of the dashboard, for links in messages; empty: no links")
    root_path: str = Field(
        default="", description="path below which a proxy serves the dashboard; empty: the path of BIGBATCH_PUBLIC_URL"
    )

    @field_validator("slurm_setup", mode="before")
    @classmethod
    def _lines(cls, value: Any) -> Any:
        return [line.strip() for line in value.split(";;") if line.strip()] if isinstance(value, str) else value

    @field_validator("notify_hosts", "trigger_folders", "trusted", mode="before")
    @classmethod
    def _entries(cls, value: Any) -> Any:
        return [entry.strip() for entry in value.split(",") if entry.strip()] if isinstance(value, str) else value

    @field_validator("trusted")
    @classmethod
    def _trusted(cls, value: list[str]) -> list[str]:
        try:
            Owners.of(value)
        except ValueError as error:
            raise PydanticCustomError("trusted", "{reason}", {"reason": str(error)}) from error
        return value

    @field_validator("public_url")
    @classmethod
    def _public_url(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://")):
            raise PydanticCustomError("public_url", "an address begins with http:// or https://")
        parts = urlsplit(value)
        if parts.query or parts.fragment:
            raise PydanticCustomError("public_url", "an address of the dashboard has no ? and no #")
        _check_root_path("public_url", parts.path.rstrip("/"))
        return value

    @field_validator("database")
    @classmethod
    def _database(cls, value: str) -> str:
        if value and not DATABASES.match(value):
            raise PydanticCustomError("database", "a URL begins with postgresql:// or sqlite:///")
        if value.startswith("postgresql") and (unclear := unclear_address(value, refused="")):  # SQLAlchemy takes / ? #
            raise PydanticCustomError("database", unclear)
        return value

    @field_validator("broker")
    @classmethod
    def _broker(cls, value: str) -> str:
        if value and "://" not in value:
            raise PydanticCustomError("broker", "a URL begins with redis:// or rediss://")
        if value and (unclear := unclear_address(value)):
            raise PydanticCustomError("broker", unclear)
        return value

    @field_validator("root_path")
    @classmethod
    def _root_path(cls, value: str) -> str:
        path = value.rstrip("/")
        _check_root_path("root_path", path)
        return path

    @field_validator("token")
    @classmethod
    def _token(cls, value: str) -> str:
        if not all("!" <= character <= "~" for character in value):
            raise PydanticCustomError("token", f"a token has only ASCII letters, digits and signs: {MAKE_TOKEN}")
        if 0 < len(value) < MIN_TOKEN_LENGTH:
            found = f"the token has {len(value)} characters, fewer than {MIN_TOKEN_LENGTH}"
            raise PydanticCustomError("token", f"{found}: {MAKE_TOKEN}")
        return value

    @field_validator("artifact_store")
    @classmethod
    def _artifact_store(cls, value: str) -> str:
        if not value:
            return value
        parts = urlsplit(value)
        if not parts.scheme or "://" not in value or "@" in parts.netloc or parts.query or parts.fragment:
            wanted = "a URL such as s3://bucket/folder, without credentials: they belong into"
            raise PydanticCustomError("artifact_store", f"{wanted} BIGBATCH_ARTIFACT_STORE_OPTIONS")
        return value.rstrip("/") if parts.path.strip("/") or parts.netloc else value

    @field_validator("artifact_store_options")
    @classmethod
    def _artifact_store_options(cls, value: str) -> str:
        try:
            is_object = not value or isinstance(json.loads(value), dict)
        except ValueError:
            is_object = False
        if not is_object:
            raise PydanticCustomError("options", 'a JSON object, such as {"key": "...", "secret": "..."}')
        return value

    def home_folder(self) -> Path:
        """Return the absolute home folder."""
        return expand_user(self.home, "BIGBATCH_HOME").absolute()

    def runs_folder(self) -> Path:
        """Return the absolute folder of the run folders."""
        return expand_user(self.runs or self.home_folder() / "runs", "BIGBATCH_RUNS").absolute()

    def snapshots_folder(self) -> Path:
        """Return the absolute folder of code snapshots; by default below the run folders, which both parts share."""
        return expand_user(self.snapshots or self.runs_folder() / SNAPSHOTS, "BIGBATCH_SNAPSHOTS").absolute()

    def cache_folder(self) -> Path:
        """Return the absolute cache folder; by default below the user's cache folder."""
        user_caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
        return expand_user(self.cache or user_caches / "bigbatch", "BIGBATCH_CACHE").absolute()

    def service_path(self) -> str:
        """Return what the paths of the service begin with where a proxy serves it: "" or, say, "/bigbatch"."""
        return self.root_path or urlsplit(self.public_url).path.rstrip("/")

    def owners(self) -> Owners:
        """Return the accounts that may own or write the service's folders."""
        return Owners.of(self.trusted)

    def database_url(self) -> str:
        """Return the SQLAlchemy URL of the database."""
        return self.database or f"sqlite:///{self.home_folder() / 'bigbatch.db'}"


def _check_root_path(field: str, path: str) -> None:
    """Raise PydanticCustomError for a path below which no proxy can serve the dashboard."""
    if path and not ROOT_PATH.fullmatch(path):
        raise PydanticCustomError(field, "a path begins with / and has letters, digits and -._~%@ between /")
    if (first := path[1:].partition("/")[0]) in OWN_PATHS:
        raise PydanticCustomError(field, f"/{first} is a page of the service itself: choose another path")


def setting_errors(error: ValidationError) -> str:
    """Return the messages of a validation error of Settings, each with the name of its environment variable."""
    return "; ".join(f"BIGBATCH_{issue.path.upper()}: {issue.message}" for issue in issues_of(error))
