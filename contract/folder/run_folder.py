"""The folder of one run: all that scheduler and trainer say to each other.

spec.json               what to do; the scheduler writes it before it submits
events.jsonl            what happened; rank 0 alone appends whole lines
times.csv               where every rank's time went; rank 0 alone appends whole lines
collective.json         what `auto` chose, for every attempt alike; rank 0 alone writes it
binding.json            what each rank of the latest attempt on many-core chips was bound to; rank 0 alone writes it
lost.jsonl              ranks that the run went on without, as replicas can; rank 0 alone appends whole lines
out.log                 what all ranks printed
attempts/N.json         who carries attempt N out: made once, by exclusive create, before any work
attempts/N.address      where rank 0 of attempt N listens
attempts/N.beat         when attempt N last gave a sign of life
attempts/N.again        the job that has attempt N was begun a second time by its cluster, and left
attempts/N.ranks        who the ranks of attempt N are and how their clocks differ; rank 0 writes it when all have met
attempts/N.rank-R.json  why rank R of attempt N fell
attempts/N.stop         where a run shares its job: it is to end, asked for ("TERM") or forced ("KILL")
attempts/N.end          where a run shares its job: the exit status of its own part; written once
attempts/N.log          where in out.log attempt N begins; none of the first, which begins at the beginning
bad-images/             the images that could not be decoded, a file each
checkpoints/            what the run goes on from after it was ended (trainers/checkpoints)
submission/             what the cluster was given
"""

import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import to_json

from contract.folder.atomic_file import put, write, write_once
from contract.folder.auto_choice import Choices
from contract.folder.cpu_binding import Bindings
from contract.folder.lost_rank import LostRank
from contract.folder.rank_failure import Fall, Roll, in_order
from contract.spec.run import RunSpec

LATE_S = 10.0  # for so long a shared file system may not show a claim that it knows to be there
SOMEBODY = "somebody whose claim cannot be read"
GIVEN_UP = "nobody: its submission was given up"  # who has an attempt that no job may carry out any more


class Beat(NamedTuple):
    """A sign of life: its file's time, and how old that is by the clock of the file system as this host sees it."""

    stamp: float
    age_s: float


@dataclass(frozen=True)
class RunFolder:
    path: Path

    @classmethod
    def of(cls, root: Path, run_id: int, key: str) -> "RunFolder":
        """The folder of a run below `root`; the key keeps two databases that share a disk apart."""
        return cls(root / f"{run_id:06}-{key}")

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def times(self) -> Path:
        return self.path / "times.csv"

    @property
    def log(self) -> Path:
        return self.path / "out.log"

    @property
    def bad_images(self) -> Path:
        return self.path / "bad-images"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def submission(self) -> Path:
        return self.path / "submission"

    def prepare(self, spec: RunSpec | Mapping[str, Any], attempt: int | None = None) -> None:
        """Make the folder and write the spec, and where the log of `attempt` begins; raise OSError when that fails.

        The spec is on the disk when this returns: after a power cut a job that was submitted since finds it whole. A
        sweep has a thousand of these folders, and making a file costs more than all else here: none is made in vain.
        """
        (self.path / "attempts").mkdir(parents=True, exist_ok=True)
        path, text = self.path / "spec.json", to_json(spec, indent=2).decode()
        try:
            with path.open("x") as file:  # nobody reads it before the first submission: it needs no draft
                put(file, text)
        except FileExistsError:  # perhaps torn, or being read by a job that came after all
            write(path, text)
        if attempt is not None and attempt > 1:
            with suppress(FileExistsError), (self.path / "attempts" / f"{attempt}.log").open("x") as file:
                file.write(str(self.log.stat().st_size if self.log.exists() else 0))

    def log_part(self, attempt: int, most: int) -> str:
        """What was printed last in an attempt, at most so many bytes of it; empty when nothing can be read."""
        try:
            with self.log.open("rb") as file:
                size, following = file.seek(0, os.SEEK_END), self._log_start(attempt + 1)
                end = size if following is None else min(size, following)
                start = max(self._log_start(attempt) or 0, end - most)
                file.seek(start)
                return file.read(max(0, end - start)).decode("utf-8", "replace")
        except OSError:
            return ""

    def read_spec(self) -> RunSpec:
        return RunSpec.model_validate_json((self.path / "spec.json").read_bytes())

    def keep_choices(self, choices: Choices) -> None:
        """Write down what `auto` chose."""
        write(self.path / "collective.json", choices.model_dump_json(indent=2))

    def read_choices(self) -> Choices | None:
        """What `auto` chose, if it has; raise ValueError when the file is damaged, OSError when it can't be read."""
        try:
            return Choices.model_validate_json((self.path / "collective.json").read_bytes())
        except FileNotFoundError:
            return None

    def keep_bindings(self, bindings: Bindings) -> None:
        """Write down what the ranks were bound to."""
        write(self.path / "binding.json", bindings.model_dump_json(indent=2))

    def read_bindings(self) -> Bindings | None:
        """What the latest ranks were bound to, if they said so; raise as `read_choices` does."""
        try:
            return Bindings.model_validate_json((self.path / "binding.json").read_bytes())
        except FileNotFoundError:
            return None

    def note_lost(self, rank: LostRank) -> None:
        """Write down a rank that the run goes on without; rank 0 alone does."""
        line = rank.model_dump_json().encode() + b"\n"
        with (self.path / "lost.jsonl").open("ab", buffering=0) as file:
            file.write(line)

    def read_lost(self) -> list[LostRank]:
        """The ranks that the run went on without; a torn line is left out. Raise OSError when it can't be read."""
        try:
            lines = (self.path / "lost.jsonl").read_bytes().splitlines()
        except FileNotFoundError:
            return []
        found = []
        for line in lines:
            with suppress(ValidationError):
                found.append(LostRank.model_validate_json(line))
        return found

    def claim(self, attempt: int, job: str) -> str:
        """Take `attempt` for `job` unless it is taken; return the job that has it.

        Every rank may ask: all ranks of one job get its name back, all ranks of any other job get the first one's.
        """
        if write_once(self.path / "attempts" / f"{attempt}.json", json.dumps({"job": job})):
            return job
        until = time.monotonic() + LATE_S
        while (holder := self.claimed_by(attempt)) in (None, SOMEBODY) and time.monotonic() < until:
            time.sleep(0.1)
        return holder or SOMEBODY

    def claimed_by(self, attempt: int) -> str | None:
        """The job that carries `attempt` out, if any has begun; somebody where a claim is there and cannot be read."""
        try:
            return str(json.loads((self.path / "attempts" / f"{attempt}.json").read_text())["job"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):  # a file system that lost power, or shows a new file empty at first
            return SOMEBODY

    def latest_attempt(self) -> int:
        """The highest attempt that anybody has claimed; 0 when none is."""
        names = [path.stem for path in (self.path / "attempts").glob("*.json")]
        return max((int(name) for name in names if name.isdecimal()), default=0)

    def publish_address(self, attempt: int, address: str) -> None:
        """Tell the other ranks where rank 0 listens ("host:port")."""
        write(self.path / "attempts" / f"{attempt}.address", address)

    def read_address(self, attempt: int) -> str | None:
        try:
            return (self.path / "attempts" / f"{attempt}.address").read_text()
        except FileNotFoundError:
            return None

    def beat(self, attempt: int) -> None:
        """Give a sign of life."""
        (self.path / "attempts" / f"{attempt}.beat").touch()

    def last_beat(self, attempt: int) -> Beat | None:
        """The last sign of life; None when there was none, or when none can be read."""
        attempts = self.path / "attempts"
        try:
            stamp = (attempts / f"{attempt}.beat").stat().st_mtime
            probe = attempts / f".{token_hex(8)}.probe"
            probe.touch()
            present = probe.stat().st_mtime
            probe.unlink()
        except OSError:
            return None
        return Beat(stamp, present - stamp)

    def note_second_start(self, attempt: int, job: str) -> None:
        write(self.path / "attempts" / f"{attempt}.again", job)

    def began_again(self, attempt: int) -> bool:
        """Whether the cluster has begun the attempt's job once more, as after a requeue."""
        return (self.path / "attempts" / f"{attempt}.again").exists()

    def wish_end(self, attempt: int, *, force: bool) -> None:
        """Ask whoever carries the attempt in a shared job to end it."""
        write(self.path / "attempts" / f"{attempt}.stop", "KILL" if force else "TERM")

    def wished_end(self, attempt: int) -> str | None:
        """TERM: it is asked to end; KILL: it is to be ended at once."""
        try:
            return (self.path / "attempts" / f"{attempt}.stop").read_text()
        except FileNotFoundError:
            return None

    def note_end(self, attempt: int, status: int) -> None:
        """Write down how the attempt's part of a shared job ended, unless that is known already."""
        write_once(self.path / "attempts" / f"{attempt}.end", str(status))

    def end_status(self, attempt: int) -> int | None:
        """The exit status of the attempt's part of a shared job, once it has ended."""
        try:
            return int((self.path / "attempts" / f"{attempt}.end").read_text())
        except (FileNotFoundError, ValueError):  # a shared file system may show a new file empty at first
            return None

    def note_roll(self, attempt: int, roll: Roll) -> None:
        """Write down who the ranks are and how their clocks differ."""
        write(self.path / "attempts" / f"{attempt}.ranks", roll.model_dump_json())

    def roll(self, attempt: int) -> Roll | None:
        """Who the ranks are, once they have met."""
        try:
            return Roll.model_validate_json((self.path / "attempts" / f"{attempt}.ranks").read_bytes())
        except (OSError, ValueError):
            return None

    def note_fall(self, attempt: int, fall: Fall) -> None:
        write(self.path / "attempts" / f"{attempt}.rank-{fall.rank}.json", fall.model_dump_json())

    def falls(self, attempt: int) -> list[Fall]:
        """The ranks that fell, the first one first by one clock, echoes after all that are none; no damaged notes."""
        falls = []
        for path in self._notes(attempt):
            with suppress(FileNotFoundError, ValidationError):
                falls.append((Fall.model_validate_json(path.read_bytes()), path.stat().st_mtime))
        return in_order(falls, self.roll(attempt)) if falls else []

    def _notes(self, attempt: int) -> Iterable[Path]:
        return (self.path / "attempts").glob(f"{attempt}.rank-*.json")

    def _log_start(self, attempt: int) -> int | None:
        try:
            return int((self.path / "attempts" / f"{attempt}.log").read_text())
        except (OSError, ValueError):
            return None
