"""The folder of one run: all that scheduler and trainer say to each other.

spec.json               what to do; the scheduler writes it before it submits
events.jsonl            what happened; rank 0 alone appends whole lines
times.csv               where every rank's time went; rank 0 alone appends whole lines
collective.json         what `auto` chose, for every attempt alike; rank 0 alone writes it
binding.json            what each rank of the latest attempt on many-core chips was bound to; rank 0 alone writes it
out.log                 what all ranks printed
attempts/N.json         who carries attempt N out: made once, by exclusive create, before any work
attempts/N.address      where rank 0 of attempt N listens
attempts/N.beat         when attempt N last gave a sign of life
attempts/N.again        the job that has attempt N was begun a second time by its cluster, and left
attempts/N.ranks        who the ranks of attempt N are and how their clocks differ; rank 0 writes it when all have met
attempts/N.rank-R.json  why rank R of attempt N fell
attempts/N.log          where in out.log attempt N begins
bad-images/             the images that could not be decoded, a file each
checkpoints/            what the run goes on from after it was ended (trainers/checkpoints)
submission/             what the cluster was given
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from contract.binding import Bindings
from contract.chosen import Choices
from contract.fall import Fall, Roll, in_order
from contract.spec import RunSpec

GIVEN_UP = "nobody: its submission was given up"  # who has an attempt that no job may carry out any more


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

    def prepare(self, spec: RunSpec, attempt: int | None = None) -> None:
        """Make the folder and write the spec, and where the log of `attempt` begins; raise OSError when that fails."""
        (self.path / "attempts").mkdir(parents=True, exist_ok=True)
        self.submission.mkdir(exist_ok=True)
        self.log.touch()
        _write(self.path / "spec.json", spec.model_dump_json(indent=2))
        if attempt is not None:
            with suppress(FileExistsError), (self.path / "attempts" / f"{attempt}.log").open("x") as file:
                file.write(str(self.log.stat().st_size))

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
        _write(self.path / "collective.json", choices.model_dump_json(indent=2))

    def read_choices(self) -> Choices | None:
        """What `auto` chose, if it has; raise ValueError when the file is damaged, OSError when it can't be read."""
        try:
            return Choices.model_validate_json((self.path / "collective.json").read_bytes())
        except FileNotFoundError:
            return None

    def keep_bindings(self, bindings: Bindings) -> None:
        """Write down what the ranks were bound to."""
        _write(self.path / "binding.json", bindings.model_dump_json(indent=2))

    def read_bindings(self) -> Bindings | None:
        """What the latest ranks were bound to, if they said so; raise as `read_choices` does."""
        try:
            return Bindings.model_validate_json((self.path / "binding.json").read_bytes())
        except FileNotFoundError:
            return None

    def claim(self, attempt: int, job: str) -> str:
        """Take `attempt` for `job` unless it is taken; return the job that has it.

        Every rank may ask: all ranks of one job get its name back, all ranks of any other job get the first one's.
        """
        path = self.path / "attempts" / f"{attempt}.json"
        draft = path.with_name(f".{path.name}.{token_hex(8)}")
        draft.write_text(json.dumps({"job": job}))
        try:
            os.link(draft, path)  # whole or not at all, and once: also on NFS
        except FileExistsError:
            pass
        finally:
            draft.unlink()
        return self.claimed_by(attempt) or job

    def claimed_by(self, attempt: int) -> str | None:
        """The job that carries `attempt` out, if any has begun."""
        try:
            return str(json.loads((self.path / "attempts" / f"{attempt}.json").read_text())["job"])
        except FileNotFoundError:
            return None

    def latest_attempt(self) -> int:
        """The highest attempt that anybody has claimed; 0 when none is."""
        names = [path.stem for path in (self.path / "attempts").glob("*.json")]
        return max((int(name) for name in names if name.isdecimal()), default=0)

    def publish_address(self, attempt: int, address: str) -> None:
        """Tell the other ranks where rank 0 listens ("host:port")."""
        _write(self.path / "attempts" / f"{attempt}.address", address)

    def read_address(self, attempt: int) -> str | None:
        try:
            return (self.path / "attempts" / f"{attempt}.address").read_text()
        except FileNotFoundError:
            return None

    def beat(self, attempt: int) -> None:
        """Give a sign of life."""
        (self.path / "attempts" / f"{attempt}.beat").touch()

    def beat_age_s(self, attempt: int) -> float | None:
        """How old the last sign of life is, by the clock of the file system alone; None when there was none."""
        attempts = self.path / "attempts"
        try:
            last = (attempts / f"{attempt}.beat").stat().st_mtime
            probe = attempts / f".{token_hex(8)}.probe"
            probe.touch()
            present = probe.stat().st_mtime
            probe.unlink()
        except OSError:
            return None
        return present - last

    def note_second_start(self, attempt: int, job: str) -> None:
        _write(self.path / "attempts" / f"{attempt}.again", job)

    def began_again(self, attempt: int) -> bool:
        """Whether the cluster has begun the attempt's job once more, as after a requeue."""
        return (self.path / "attempts" / f"{attempt}.again").exists()

    def note_roll(self, attempt: int, roll: Roll) -> None:
        """Write down who the ranks are and how their clocks differ."""
        _write(self.path / "attempts" / f"{attempt}.ranks", roll.model_dump_json())

    def roll(self, attempt: int) -> Roll | None:
        """Who the ranks are, once they have met."""
        try:
            return Roll.model_validate_json((self.path / "attempts" / f"{attempt}.ranks").read_bytes())
        except (OSError, ValueError):
            return None

    def note_fall(self, attempt: int, fall: Fall) -> None:
        _write(self.path / "attempts" / f"{attempt}.rank-{fall.rank}.json", fall.model_dump_json())

    def falls(self, attempt: int) -> list[Fall]:
        """The ranks that fell, the first one first by one clock, and echoes after all that are none."""
        notes = [(path.read_bytes(), path.stat().st_mtime) for path in self._notes(attempt)]
        return in_order(
            [(Fall.model_validate_json(text), written_at) for text, written_at in notes], self.roll(attempt)
        )

    def _notes(self, attempt: int) -> Iterable[Path]:
        return (self.path / "attempts").glob(f"{attempt}.rank-*.json")

    def _log_start(self, attempt: int) -> int | None:
        try:
            return int((self.path / "attempts" / f"{attempt}.log").read_text())
        except (OSError, ValueError):
            return None


def _write(path: Path, text: str) -> None:
    """Write a whole file or none: a reader never sees half of it, a crash never leaves half of it."""
    draft = path.with_name(f".{path.name}.{token_hex(8)}")
    with draft.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
