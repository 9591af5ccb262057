"""What the service is told by its surroundings: environment variables that begin with BIGBATCH_."""

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


class Settings(BaseSettings):
    """Every setting has a default that suits one laptop."""

    model_config = SettingsConfigDict(env_prefix="BIGBATCH_", frozen=True, env_ignore_empty=True)

    home: Path = Field(
        default=Path("~/.bigbatch"), description="folder of the database, the run folders and the broker"
    )
    database: str = Field(default="", description="SQLAlchemy URL; empty: SQLite in the home folder")
    broker: str = Field(default="", description="Redis URL; empty: a file broker in the home folder")
    runs: Path | None = Field(default=None, description="folder of the run folders, shared with the compute nodes")
    cache: Path | None = Field(default=None, description="folder of data sets that ranks render once")
    token: str = Field(
        default="", pattern=r"^[!-~]*$", description="secret that every request must carry; needed beyond loopback"
    )
    slurm: bool | None = Field(default=None, description="submit to Slurm; unset: where sbatch is found")
    slurm_python: str = Field(default="", description="Python on the compute nodes; empty: the scheduler's own")
    slurm_setup: Annotated[list[str], NoDecode] = Field(
        default=[], description="shell lines that a job runs first, separated by ';;'"
    )
    local_ranks: int = Field(default=0, ge=0, description="ranks that may train at once on this machine; 0: its cores")

    @field_validator("slurm_setup", mode="before")
    @classmethod
    def _lines(cls, value: Any) -> Any:
        return [line.strip() for line in value.split(";;") if line.strip()] if isinstance(value, str) else value

    def home_folder(self) -> Path:
        return self.home.expanduser().absolute()

    def runs_folder(self) -> Path:
        return (self.runs or self.home_folder() / "runs").expanduser().absolute()

    def cache_folder(self) -> Path:
        """Where the user's other caches are, unless it is set."""
        users = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
        return (self.cache or users / "bigbatch").expanduser().absolute()

    def database_url(self) -> str:
        return self.database or f"sqlite:///{self.home_folder() / 'bigbatch.db'}"
