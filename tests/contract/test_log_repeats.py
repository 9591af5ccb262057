"""A log says once what repeats: one line for many, the traceback once, and when it is over."""

import io
import logging
import sqlite3
from collections.abc import Callable

import pytest
from sqlalchemy.exc import OperationalError

from contract.log_causes import cause_of
from contract.log_repeats import FORGET_S, MOST, MOST_OF_KIND, Repeats
from contract.service_log import ServiceHandler

pytestmark = pytest.mark.ring("quick")


class Log:
    """A logger whose lines are kept, and whose time stands until a test moves it."""

    def __init__(self) -> None:
        self.now, self._stream = 0.0, io.StringIO()
        self.repeats = Repeats(lambda: self.now)
        self._handler = ServiceHandler(self._stream, self.repeats)
        self.logger = logging.Logger("bigbatch.test")
        self.logger.addHandler(self._handler)

    def fail(self, error: Exception, words: str = "Task %s raised unexpected: %s", name: object = "ingest") -> None:
        """Log that an error was raised; `name` has the arguments before it."""
        try:
            raise error
        except Exception as raised:
            before = name if isinstance(name, tuple) else (name,)
            self.logger.exception(words, *before, *([raised] if words.count("%") > len(before) else []))

    def wait(self, seconds: float) -> None:
        """Let time pass, with a look each second as in a process."""
        for _ in range(round(seconds)):
            self.now += 1
            self._handler.look()

    @property
    def text(self) -> str:
        return self._stream.getvalue()

    @property
    def lines(self) -> list[str]:
        """The lines without their moments, without those of tracebacks."""
        return [line.partition(": ")[2] for line in self.text.splitlines() if line[:2] == "20"]


@pytest.fixture
def log() -> Log:
    return Log()


def away() -> OperationalError:
    return OperationalError("SELECT 1", {}, ConnectionError("connection refused at port 5432"))


def test_a_database_that_is_away_is_one_traceback_and_few_lines(log: Log) -> None:
    """Forces the fault: seventeen ticks fail each second for 25 s, at many places; that was 325 tracebacks."""
    for _ in range(25):
        for name in ("ingest", "poll", "launch"):
            log.fail(away(), name=name)
        log.wait(1)
    log.wait(11)
    assert log.text.count("Traceback") == 1
    assert log.lines == [
        "Task ingest raised unexpected: (builtins.ConnectionError) connection refused at port 5432",
        "OperationalError: (builtins.ConnectionError) connection refused at port 5432 (and 30 times more in 10 s)",
        "the database answers again after 24 s: "
        "OperationalError: (builtins.ConnectionError) connection refused at port 5432 came 75 times",
    ]


def test_intervals_grow(log: Log) -> None:
    for _ in range(3600):
        log.fail(away())
        log.wait(1)
    assert log.text.count("Traceback") == 1
    assert len(log.lines) == 1 + 6 + 4  # after 10, 30, 70, 150, 310, 630 s; then each 10 minutes
    assert log.lines[-1].endswith("(and 600 times more in 600 s)")


def test_each_cause_has_its_traceback(log: Log) -> None:
    def other() -> None:
        log.fail(ValueError("b"))

    for _ in range(5):
        log.fail(ValueError("a"))
        log.fail(KeyError("a"))
        other()
    assert log.text.count("Traceback") == 2  # of one place: the kind of the error tells


def test_a_warning_without_an_error_repeats_by_its_words(log: Log) -> None:
    for number in (1, 2, 1, 2, 1):
        log.logger.warning("the folder of run %d cannot be read", number)
    log.logger.info("nothing")
    log.wait(11)
    assert log.lines == [
        "the folder of run 1 cannot be read",
        "the folder of run 2 cannot be read",
        "nothing",
        "over after 0 s: the folder of run 1 cannot be read came 3 times",
    ]


def test_a_fault_that_comes_each_minute_is_not_over_in_between(log: Log) -> None:
    for _ in range(10):
        log.fail(ValueError("a"))
        log.wait(60)
    log.wait(121)
    assert log.text.count("Traceback") == 1
    assert sum(line.startswith("over after 540 s") for line in log.lines) == 1


def test_a_fault_that_comes_back_is_one_line_and_after_an_hour_a_traceback_again(log: Log) -> None:
    for pause in (0, 0, 30, FORGET_S + 1):
        log.fail(away())
        log.wait(pause)
    assert log.text.count("Traceback") == 1
    assert log.lines[-1].startswith("again: OperationalError")
    log.fail(away())
    assert log.text.count("Traceback") == 2


def record_of(error: Exception) -> logging.LogRecord:
    return logging.makeLogRecord({"name": "celery", "exc_info": (type(error), error, None), "msg": "x"})


def test_the_cause_of_a_group_is_all_its_errors(log: Log) -> None:
    """Before: a second cluster that began to fail while the first one failed was in no line."""
    first, second = ValueError("slurm has no answer"), ValueError("local has no answer")
    assert cause_of(record_of(ExceptionGroup("several", [away(), away()]))) == cause_of(record_of(away()))
    for group in ([first], [first, second], [second, first], [ExceptionGroup("b", [second]), first]):
        log.fail(ExceptionGroup("runs of some clusters could not be ingested", group))
    assert len(log.lines) == 2
    assert "local has no answer" in log.text


def test_each_run_that_fails_at_one_line_is_named_and_the_traceback_is_written_once(log: Log) -> None:
    """Before: run 12 failed each second, and run 40, which failed there too, was in no line."""
    for run, words in ((12, "no such file"), (40, "a value is no number"), (12, "no such file"), (40, "another")):
        log.fail(ValueError(words), "the %s of run %d could not be stored", ("report", run))
    assert log.text.count("Traceback") == 1
    assert [line.partition(" (at ")[0] for line in log.lines] == [
        "the report of run 12 could not be stored",
        "the report of run 40 could not be stored: ValueError: a value is no number",
        "the report of run 40 could not be stored: ValueError: another",
    ]
    log.wait(10)
    log.fail(ValueError("no such file"), "the %s of run %d could not be stored", ("report", 12))
    assert log.lines[-1].startswith("the report of run 12 could not be stored: ValueError: no such file (at ")


class Deadlock(Exception):
    """An error of PostgreSQL's driver, as psycopg raises it for a statement."""

    sqlstate = "40P01"


def test_only_a_database_that_is_away_answers_again(log: Log) -> None:
    """Before: three deadlocks, or a locked file of SQLite, were "the database answers again"."""
    locked = sqlite3.OperationalError("database is locked")
    locked.sqlite_errorname = "SQLITE_BUSY"
    gone = type("AdminShutdown", (Exception,), {"sqlstate": "57P01"})("terminating connection")
    for error in (Deadlock("deadlock detected"), locked):
        assert not cause_of(record_of(OperationalError("UPDATE", {}, error))).is_away
    assert cause_of(record_of(OperationalError("SELECT", {}, gone))).is_away
    for _ in range(3):
        log.fail(OperationalError("UPDATE", {}, Deadlock("deadlock detected")))
    log.wait(11)
    assert log.lines[-1].startswith("over after 0 s: ")


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("the outputs of run %d cannot be removed, next try in %.0f s: %s", lambda count: (7, 20.0 * count, "no")),
        ("message %s, attempt %d: %s", lambda count: ("m1", count, "no answer")),
        ("%s: skipped %d bytes without an end of line: %r", lambda count: ("/runs/7", 5 * count, b"%d" % count)),
        ("run %d waits: %s", lambda count: (7, OSError(f"no answer within {count}.5 s"))),
    ],
)
def test_a_text_with_a_number_that_changes_is_one_cause(
    log: Log, words: str, arguments: Callable[[int], tuple[object, ...]]
) -> None:
    for count in range(1, 30):
        log.logger.warning(words, *arguments(count))
    assert len(log.lines) == 1


def test_a_text_of_a_library_is_one_cause_whatever_its_numbers_are(log: Log) -> None:
    log.logger.name = "celery.worker"
    for count in range(30):
        log.logger.warning(f"Cannot connect: trying again in {count}.00 seconds ({count}/100)")
    assert len(log.lines) == 1


def test_a_fault_of_all_runs_pushes_no_other_cause_out(log: Log) -> None:
    log.logger.warning("the file system is full")
    for _ in range(2):
        for number in range(MOST + 10):
            log.logger.warning("run %d could not be read: %s", number, "no answer")
            log.fail(ValueError("a"), "run %d could not be stored: %s", number)
    log.logger.warning("the file system is full")
    assert len(log.lines) == 1 + 2 * (MOST_OF_KIND + 1)
    assert log.text.count("Traceback") == 1


class Wordless(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def test_a_line_that_cannot_be_written_does_not_fail_its_caller(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    """Forces the faults: a wrong argument of a format, and an error whose text raises; a tick ended because of it."""
    log.logger.warning("run %d", "no number")
    log.fail(Wordless(), "run %d could not be stored: %s", 7)
    assert capsys.readouterr().err.count("--- Logging error ---") == 2


def test_what_is_known_of_causes_is_bounded(log: Log) -> None:
    for number in range(MOST + 10):
        log.logger.warning(f"warning {number}")
    assert len(log.lines) == MOST + 10
    assert len(log.repeats._episodes) == len(log.repeats._of_kind) == MOST


def test_a_text_of_others_is_no_escape_in_the_log(log: Log) -> None:
    log.logger.warning("the job %s", "\x1b[2Jname\x9b")
    assert "\x1b" not in log.text
    assert "\x9b" not in log.text
