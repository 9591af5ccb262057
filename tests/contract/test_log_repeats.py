"""A log says once what repeats: one line for many, the traceback once, and when it is over."""

import io
import logging

import pytest
from sqlalchemy.exc import OperationalError

from contract.log_repeats import FORGET_S, MOST, Repeats, cause_of
from contract.service_log import ServiceHandler

pytestmark = pytest.mark.ring("quick")


class Log:
    """A logger whose lines are kept, and whose time stands until a test moves it."""

    def __init__(self) -> None:
        self.now, self._stream = 0.0, io.StringIO()
        self._handler = ServiceHandler(self._stream, Repeats(lambda: self.now))
        self.logger = logging.Logger("bigbatch.test")
        self.logger.addHandler(self._handler)

    def fail(self, error: Exception, words: str = "Task %s raised unexpected: %s", name: str = "ingest") -> None:
        try:
            raise error
        except Exception as raised:
            self.logger.exception(words, name, raised)

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


def test_the_cause_of_a_group_is_its_first_error(log: Log) -> None:
    def record(error: Exception) -> logging.LogRecord:
        return logging.makeLogRecord({"exc_info": (type(error), error, None), "msg": "x"})

    assert cause_of(record(ExceptionGroup("several", [away(), ValueError()]))) == cause_of(record(away()))


def test_what_is_known_of_causes_is_bounded(log: Log) -> None:
    repeats = Repeats()
    for number in range(MOST + 10):
        assert repeats.take(logging.makeLogRecord({"msg": f"warning {number}", "levelno": 30})) is None
    assert len(repeats._episodes) == MOST


def test_a_text_of_others_is_no_escape_in_the_log(log: Log) -> None:
    log.logger.warning("the job %s", "\x1b[2Jname\x9b")
    assert "\x1b" not in log.text
    assert "\x9b" not in log.text
