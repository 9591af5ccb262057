"""The folder of one run, the only interface of scheduler and jobs; the docstring of contract.folder lists its files."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from contract.access.visibility import PRIVATE, Visibility
from contract.folder import heartbeat, rank_failure
from contract.folder.auto_choice import CollectiveChoices
from contract.folder.bounds import INT8
from contract.folder.chunk_states import ChunkStates
from contract.folder.cpu_binding import CpuBindings
from contract.folder.files import untrusted_file
from contract.folder.files.atomic_file import write_atomic, write_exclusive, write_new
from contract.folder.files.untrusted_file import RegularFile, UnreadableFileError
from contract.folder.heartbeat import Heartbeat
from contract.folder.lost_rank import LostRank, read_lost_ranks
from contract.folder.rank_failure import RankFailure, RankRoster, order_by_time, parse_roster
from contract.folder.rendezvous_point import RendezvousPoint
from contract.spec.any_run import AnyRun
from contract.spec.run import RunSpec
from runfiles import claim, exit_status, names

CLAIM_VISIBLE_S, UNREADABLE = claim.VISIBLE_S, claim.UNREADABLE
ABANDONED = "nobody: its submission was given up"  # holder of an attempt that no job may carry out

# The largest files that are read. A record is larger than 1 MB only in a run of some ten thousand ranks.
SMALL_BYTES = 1 << 16  # a claim, a request, an exit code
RECORD_BYTES = 1 << 22  # a spec, the choices of `auto`, the bindings, the roster
EVENTS, TIMES, LOG, POINTS = names.EVENTS, "times.csv", names.LOG, "points"

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class RunFolder:
    """One run's folder at `path`."""

    path: Path

    @classmethod
    def of(cls, root: Path, run_id: int, key: str) -> "RunFolder":
        """Return the folder of a run below `root`; `key` separates the runs of databases that share a disk."""
        return cls(root / f"{run_id:06}-{key}")

    @property
    def events(self) -> Path:
        """The file of events."""
        return self.path / EVENTS

    @property
    def times(self) -> Path:
        """The table of step times."""
        return self.path / TIMES

    @property
    def log(self) -> Path:
        """The file with the output of all ranks."""
        return self.path / LOG

    @property
    def bad_images(self) -> Path:
        """The folder of images that cannot be decoded."""
        return self.path / "bad-images"

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints."""
        return self.path / "checkpoints"

    @property
    def submission(self) -> Path:
        """The folder of the submission's files."""
        return self.path / "submission"

    def prepare(self, spec: AnyRun | Mapping[str, Any], attempt: int = 1, visibility: Visibility = PRIVATE) -> None:
        """Create the folder, write the spec and the byte at which the log of `attempt` starts; may raise OSError.

        The spec is on the disk when this method returns, so a job that survives a power failure reads a whole spec. The
        first attempt creates no log mark: file creation dominates the cost of preparing thousands of runs.
        """
        visibility.make_folder(self.path)
        (self.path / names.ATTEMPTS).mkdir(exist_ok=True)
        text = to_json(spec, indent=2).decode()
        try:
            write_new(self.path, names.SPEC, text)  # no process reads the spec before the first submission
        except FileExistsError:  # an older process may have written a part of the file, or a late job may read the file
            write_atomic(self.path, names.SPEC, text)
        if attempt > 1:
            with suppress(FileExistsError):
                write_new(self.path, _attempt_file(attempt, "log"), str(untrusted_file.size_of(self.path, LOG) or 0))

    def read_spec(self) -> RunSpec:
        """Return the spec of an engine run; raise OSError or ValidationError."""
        return RunSpec.model_validate_json(untrusted_file.read_file(self.path, names.SPEC, RECORD_BYTES))

    def open_log(self) -> RegularFile:
        """Open the log for reading; raise FileNotFoundError, UnreadableFileError or another OSError."""
        return untrusted_file.open_file(self.path, LOG)

    def open_log_for_append(self) -> IO[bytes]:
        """Open the log at its end for writing; raise UnreadableFileError or another OSError."""
        return untrusted_file.open_for_append(self.path, LOG)

    def read_attempt_log(self, attempt: int, max_bytes: int) -> str:
        """Return the last `max_bytes` bytes of an attempt's log at most; empty if the log cannot be read."""
        try:
            with self.open_log() as file:
                next_start = self._log_start(attempt + 1)
                end = file.size if next_start is None else min(file.size, next_start)
                start = max(self._log_start(attempt) or 0, end - max_bytes, 0)
                return file.read(start, end - start).decode("utf-8", "replace")
        except OSError:
            return ""

    def write_choices(self, choices: CollectiveChoices) -> None:
        """Store the choices of `auto`."""
        write_atomic(self.path, "collective.json", choices.model_dump_json(indent=2))

    def read_choices(self) -> CollectiveChoices | None:
        """Return the choices of `auto`, None without any; raise ValueError for a damaged file, or OSError."""
        return self._read_if_exists("collective.json", CollectiveChoices)

    def write_chunks(self, chunks: ChunkStates) -> None:
        """Store the states of a volume's chunks."""
        write_atomic(self.path, "chunks.json", chunks.model_dump_json())

    def read_chunks(self) -> ChunkStates | None:
        """Return the states of a volume's chunks, None without any; raise ValueError for a damaged file, or OSError."""
        return self._read_if_exists("chunks.json", ChunkStates)

    def write_bindings(self, bindings: CpuBindings) -> None:
        """Store the CPU and memory binding of all ranks."""
        write_atomic(self.path, "binding.json", bindings.model_dump_json(indent=2))

    def read_bindings(self) -> CpuBindings | None:
        """Return the latest attempt's bindings, None without any; raise ValueError for a damaged file, or OSError."""
        return self._read_if_exists("binding.json", CpuBindings)

    def write_lost_rank(self, rank: LostRank) -> None:
        """Append a rank without which the run continues. Only rank 0 may call this method."""
        line = rank.model_dump_json().encode() + b"\n"
        with untrusted_file.open_for_append(self.path, "lost.jsonl") as file:
            file.write(line)

    def read_lost_ranks(self) -> list[LostRank]:
        """Return the ranks without which the run continued, those in the first megabyte; may raise OSError."""
        return read_lost_ranks(self.path, "lost.jsonl")

    def claim(self, attempt: int, job: str) -> str:
        """Claim `attempt` for `job` unless another job holds the attempt; return the job that holds the attempt.

        Every rank may call this method: all ranks of the first job get that job's name, and so do all other ranks.
        """
        if write_exclusive(self.path, _attempt_file(attempt, names.CLAIM), claim.text_of(job)):
            return job
        return claim.await_holder(
            lambda: self.read_claim(attempt), lambda: self._is_unreadable(attempt, names.CLAIM), CLAIM_VISIBLE_S
        )

    def read_claim(self, attempt: int) -> str | None:
        """Return the job that holds `attempt`; None without a claim, UNREADABLE for a claim that cannot be read."""
        try:
            return claim.holder_in(self._read_attempt_file(attempt, names.CLAIM))
        except FileNotFoundError:
            return None
        except UnreadableFileError:  # not None: no job can claim the attempt, because the name exists
            return UNREADABLE

    def begun_at(self, attempt: int) -> float | None:
        """Return when the job of `attempt` first began, by its script's mark or its claim; the file server's clock."""
        begun = []
        for kind in ("began", names.CLAIM):
            with suppress(FileNotFoundError, UnreadableFileError, PermissionError):
                begun.append(untrusted_file.stat_file(self.path, _attempt_file(attempt, kind)).st_mtime)
        return min(begun, default=None)

    def latest_attempt(self) -> int:
        """Return the number of the highest claimed attempt; 0 without one."""
        return names.latest_attempt(untrusted_file.list_folder(self.path, names.ATTEMPTS))

    def write_rendezvous(self, attempt: int, point: RendezvousPoint) -> None:
        """Publish where rank 0 listens, and the attempt's secret, to processes of this user."""
        write_atomic(self.path, _attempt_file(attempt, names.RENDEZVOUS), point.model_dump_json(), mode=0o600)

    def read_rendezvous(self, attempt: int) -> RendezvousPoint | None:
        """Return where rank 0 listens and the secret; None before rank 0 has published them. May raise OSError."""
        with suppress(ValidationError):  # NFS may show a new file as empty at first
            return self._read_if_exists(_attempt_file(attempt, names.RENDEZVOUS), RendezvousPoint)
        return None

    def write_heartbeat(self, attempt: int) -> None:
        """Renew the attempt's heartbeat."""
        untrusted_file.touch_file(self.path, _attempt_file(attempt, names.BEAT))

    def read_heartbeat(self, attempt: int) -> Heartbeat | None:
        """Return the newest heartbeat of the attempt, None without a readable one."""
        return heartbeat.read_heartbeat(self.path, _attempt_file(attempt, names.BEAT))

    def write_second_start(self, attempt: int, job: str) -> None:
        """Record that the cluster started the attempt's job again."""
        write_atomic(self.path, _attempt_file(attempt, names.AGAIN), job)

    def has_started_again(self, attempt: int) -> bool:
        """Return whether the cluster started the attempt's job again, as after a requeue."""
        return untrusted_file.size_of(self.path, _attempt_file(attempt, names.AGAIN)) is not None

    def request_end(self, attempt: int, *, force: bool) -> None:
        """Request the end of an attempt in a shared job: TERM, or KILL with `force`."""
        write_atomic(self.path, _attempt_file(attempt, names.REQUEST), "KILL" if force else "TERM")

    def read_end_request(self, attempt: int) -> str | None:
        """Return the request to end the attempt: TERM (save and end), KILL (end at once), or None."""
        return self._text_if_exists(attempt, names.REQUEST)

    def write_part_exit(self, attempt: int, status: int) -> None:
        """Store the exit code of an attempt in a shared job, unless an exit code is stored."""
        write_exclusive(self.path, _attempt_file(attempt, names.EXIT), str(status))

    def read_part_exit(self, attempt: int) -> int | None:
        """Return the exit code of an attempt in a shared job, None before its end."""
        try:
            return exit_status.in_text(self._read_attempt_file(attempt, names.EXIT))
        except (FileNotFoundError, UnreadableFileError):
            return None

    def write_roster(self, attempt: int, roster: RankRoster) -> None:
        """Store the hosts and clock offsets of the attempt's ranks."""
        write_atomic(self.path, _attempt_file(attempt, "ranks"), roster.model_dump_json())

    def read_roster(self, attempt: int) -> RankRoster | None:
        """Return the hosts and clock offsets of the attempt's ranks, None before the rendezvous is complete."""
        try:
            return parse_roster(self._read_attempt_file(attempt, "ranks", RECORD_BYTES))
        except (OSError, ValueError):
            return None

    def write_rank_failure(self, attempt: int, failure: RankFailure) -> None:
        """Store why a rank failed."""
        rank_failure.write_rank_failure(self.path, attempt, failure)

    def list_failed_ranks(self, attempt: int) -> list[int]:
        """Return the ranks that have recorded a failure, ascending, without opening the records."""
        return rank_failure.list_failed_ranks(self.path, attempt)

    def read_rank_failures(self, attempt: int, ranks: Iterable[int] | None = None) -> list[RankFailure]:
        """Return the failures (of `ranks`) in time order, echoes last; damaged and unreadable files are omitted."""
        failures = rank_failure.read_rank_failures(self.path, attempt, ranks)
        return order_by_time(failures, self.read_roster(attempt)) if failures else []

    def _log_start(self, attempt: int) -> int | None:
        try:
            start = int(self._read_attempt_file(attempt, "log"))
        except (OSError, ValueError):
            return None
        return start if 0 <= start <= INT8 else None

    def _is_unreadable(self, attempt: int, suffix: str) -> bool:
        try:
            self._read_attempt_file(attempt, suffix)
        except OSError as error:
            return isinstance(error, UnreadableFileError)
        return False

    def _read_attempt_file(self, attempt: int, suffix: str, max_bytes: int = SMALL_BYTES) -> bytes:
        return untrusted_file.read_file(self.path, _attempt_file(attempt, suffix), max_bytes)

    def _text_if_exists(self, attempt: int, suffix: str) -> str | None:
        try:
            return self._read_attempt_file(attempt, suffix).decode("utf-8", "replace")
        except FileNotFoundError:
            return None

    def _read_if_exists(self, name: str, model: type[Model]) -> Model | None:
        try:
            return model.model_validate_json(untrusted_file.read_file(self.path, name, RECORD_BYTES))
        except FileNotFoundError:
            return None


def _attempt_file(attempt: int, suffix: str) -> str:
    return f"{names.ATTEMPTS}/{names.name_of(attempt, suffix)}"
