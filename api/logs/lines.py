"""What a line of a log names: the rank that printed it, and its level."""

import re

from contract.api.curves import LogLevel

HEAD = 400  # characters of a line in which its rank and its level are looked for
LABEL = re.compile(
    r" {0,8}(\d{1,9}): ?"
)  # as of srun --label: right-aligned, and without its last space before a line's end
NAMED = re.compile(r"\s*\[rank ?(\d{1,9})\]:? ?", re.I)  # PyTorch's "[rank3]: Traceback", and "[rank 3] step 7"
WORD = re.compile(r"\b(?:(DEBUG)|(INFO)|(WARN(?:ING)?)|(ERROR|CRITICAL|FATAL))\b")
WARNING = re.compile(r"\w*Warning: |[Ww]arning: ")
ERROR = re.compile(
    r"(?:[\w.]+\.)?\w*(?:Error|Exception|Interrupt)(?:: |$)"  # the last line of a traceback
    r"|Traceback \(most recent call last\)"
    r"|(?:\w+: )?(?:error|fatal): "  # "srun: error: "
)
TRACEBACK = "Traceback (most recent call last)"
OF_GROUP = (LogLevel.DEBUG, LogLevel.INFO, LogLevel.WARNING, LogLevel.ERROR)
ORDER = {level: number for number, level in enumerate(LogLevel)}


def split_rank(line: str, *, labels_are_ranks: bool = True) -> tuple[int | None, str]:
    """Return the rank that a line names, None without one, and the line without rank and label.

    `labels_are_ranks`: srun or the agent labelled the lines; else a number at the beginning is the program's own.
    """
    label = LABEL.match(line)
    text = line[label.end() :] if label else line
    named = NAMED.match(text)
    if named:
        return int(named[1]), text[named.end() :]
    return (int(label[1]) if label and labels_are_ranks else None), text


def level_of(text: str) -> LogLevel:
    """Return the level of a line without its label; a line that names none is information."""
    head = text[:HEAD]
    if found := WORD.search(head):
        return OF_GROUP[(found.lastindex or 1) - 1]
    if ERROR.match(head):
        return LogLevel.ERROR
    return LogLevel.WARNING if WARNING.search(head) else LogLevel.INFO


class LevelFilter:
    """Decides on lines from the last to the first: a traceback's frames stand before the error that they belong to."""

    def __init__(self, least: LogLevel) -> None:
        self._least = ORDER[least]
        self._in_traceback: set[int | None] = set()  # ranks whose error has come, and its first line not yet

    def admits(self, rank: int | None, text: str) -> bool:
        """Return whether a line, or the error whose traceback it belongs to, has the least level."""
        level = level_of(text)
        if rank in self._in_traceback and (text.startswith(TRACEBACK) or text[:1] in ("", " ")):
            if text.startswith(TRACEBACK):
                self._in_traceback.discard(rank)
            return True
        if level is LogLevel.ERROR:
            self._in_traceback.add(rank)
        else:
            self._in_traceback.discard(rank)
        return ORDER[level] >= self._least
