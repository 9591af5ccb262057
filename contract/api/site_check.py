"""The results of `bigbatch doctor`, one for each check of a site."""

from enum import StrEnum
from typing import Self

from pydantic import BaseModel, Field, model_validator


class Grade(StrEnum):
    """How severe a finding is."""

    OK = "ok"
    NOTE = "note"  # information without effect on most runs
    WARNING = "warning"  # runs work, some slower or less reliably
    ERROR = "error"  # runs will fail


class Check(BaseModel):
    """The result of one check; every result except OK has an advice."""

    area: str  # slurm, compute node, this machine, folder, space, database, broker, service
    name: str
    grade: Grade
    found: str
    means: str = Field(min_length=1)  # the effect on runs
    advice: str = ""  # how to fix the finding, starting with a verb; empty for OK

    @model_validator(mode="after")
    def _check_advice(self) -> Self:
        if bool(self.advice) is (self.grade is Grade.OK):
            raise ValueError(f"{self.name}: {self.grade.value} {'with' if self.advice else 'without'} advice")
        return self


def passed_check(area: str, name: str, found: str, means: str) -> Check:
    """Return the result of a check without a problem."""
    return Check(area=area, name=name, grade=Grade.OK, found=found, means=means)


def failed_check(area: str, name: str, grade: Grade, *, found: str, means: str, advice: str) -> Check:
    """Return the result of a check with a problem."""
    return Check(area=area, name=name, grade=grade, found=found, means=means, advice=advice)
