"""What `bigbatch doctor` finds at a site, check by check."""

from enum import StrEnum
from typing import Self

from pydantic import BaseModel, Field, model_validator


class Grade(StrEnum):
    OK = "ok"
    NOTE = "note"  # worth knowing
    WARNING = "warning"  # runs go, some of them worse than they could
    ERROR = "error"  # runs will not go


class Check(BaseModel):
    """One thing that was looked at; where it is amiss, never without what to set."""

    area: str  # slurm, compute node, folder, space, database, broker, service
    name: str
    grade: Grade
    found: str
    means: str = Field(min_length=1)  # what follows for runs
    advice: str = ""  # what to set; of one that is ok, nothing

    @model_validator(mode="after")
    def _says_what_to_set(self) -> Self:
        if bool(self.advice) is (self.grade is Grade.OK):
            raise ValueError(f"{self.name}: {self.grade.value} {'with' if self.advice else 'without'} an advice")
        return self


def fine(area: str, name: str, found: str, means: str) -> Check:
    """A check that found what runs need."""
    return Check(area=area, name=name, grade=Grade.OK, found=found, means=means)


def amiss(area: str, name: str, grade: Grade, *, found: str, means: str, advice: str) -> Check:
    """A check that found what to know or to mend."""
    return Check(area=area, name=name, grade=grade, found=found, means=means, advice=advice)
