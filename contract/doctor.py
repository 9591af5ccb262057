"""What `bigbatch doctor` finds at a site, check by check."""

from enum import StrEnum

from pydantic import BaseModel


class Grade(StrEnum):
    OK = "ok"
    NOTE = "note"  # worth knowing
    WARNING = "warning"  # runs go, some of them worse than they could
    ERROR = "error"  # runs will not go


class Check(BaseModel):
    """One thing that was looked at."""

    area: str  # slurm, compute node, folder, database, broker, service
    name: str
    grade: Grade
    found: str
    means: str = ""  # what follows for runs
    advice: str = ""  # what to set
