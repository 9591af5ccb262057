"""Calls in the shape of wandb's, by one changed import: `from bigbatch import wandb`.

`init`, `log`, `config`, `summary` and `finish` do what they do there, with the run's folder in the place of a server.
Numbers are logged, those of the summary at the last step; images, tables and other objects are left out. What a call
does not do is said once in the run's log. `commit=False` delays nothing: values are written at once, and further values
go to the same step, so that no end of the process loses any.
"""

from __future__ import annotations

import atexit
import os
import random
import string
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any

import bigbatch
from bigbatch.running.calls import finish as _finish
from bigbatch.running.calls import last_step as _last_step
from bigbatch.running.calls import log as _log
from bigbatch.running.environment import read_environment
from bigbatch.running.measurement import number_text
from bigbatch.running.wandb_notes import keep_config, say, say_alert, say_labels

MAX_DEPTH = 5  # of nested metrics
LEFT_OUT = frozenset(
    {
        *("Artifact", "Audio", "Graph", "Histogram", "Html", "Image", "Molecule", "Object3D", "Plotly", "Table"),
        *(
            "Settings",
            "Video",
            "link_artifact",
            "log_artifact",
            "log_code",
            "log_model",
            "mark_preempting",
            "plot",
        ),
        *("Classes", "data_types", "plot_table", "require", "setup", "teardown", "unwatch"),
    }
)


class AlertLevel(Enum):
    """The levels of `alert`."""

    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


class Error(Exception):
    """The class that scripts name in `except wandb.Error`; no call raises it."""


class Errors:
    """The exceptions that scripts name."""

    Error = CommError = UsageError = AuthenticationError = Error


class Tools:
    """The part of wandb's tools that scripts call."""

    @staticmethod
    def generate_id(length: int = 8) -> str:
        """Return a random name of small letters and digits, as for `init(id=...)`."""
        return "".join(random.SystemRandom().choices(string.ascii_lowercase + string.digits, k=length))


class Store(dict[str, Any]):
    """A dictionary whose items are attributes too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def update(self, *values: Any, allow_val_change: bool = True, **more: Any) -> None:
        """Add items, or replace them; of an object such as argparse's, its attributes."""
        for one in values:
            super().update(_mapping_of(one))
        super().update(more)

    def setdefaults(self, values: Mapping[str, Any]) -> None:
        """Add the items that are absent."""
        for name, value in values.items():
            self.setdefault(name, value)

    def as_dict(self) -> dict[str, Any]:
        """Return a plain dictionary."""
        return dict(self)


def _mapping_of(values: Any) -> Mapping[str, Any]:
    """Return a mapping, or the attributes of another object; nothing of what has none, such as a file's name."""
    return values if isinstance(values, Mapping) else getattr(values, "__dict__", {})


class _Anything(type):
    """The type of Ignored: it has functions of every name, as the module `wandb.plot`."""

    def __getattr__(cls, name: str) -> Any:
        return _left_out(name)


class Ignored(metaclass=_Anything):
    """What has no curve: an image, a table, an artifact. It accepts every argument and call, and is left out."""

    def __init__(self, *values: Any, **options: Any) -> None:
        """Take anything."""

    def __getattr__(self, name: str) -> Any:
        return _left_out(name)


def _left_out(name: str) -> type[Ignored]:
    if name.startswith("_") or name == "item":  # what has `item` would count as a number
        raise AttributeError(name)
    return Ignored


class Run:
    """The run of this process, as `init` returns it."""

    def __init__(self, config: Store, summary: Store) -> None:
        environment = read_environment()
        self.config, self.summary = config, summary
        self.id = self.name = Path(environment.folder).name if environment.folder else "no-run"
        self.dir = environment.folder or os.getcwd()
        self.project: str | None = None
        self.entity = self.group = self.url = None
        self.resumed = environment.attempt > 1
        self.step = 0
        self._logged: dict[str, Any] = dict(summary)  # values of the summary that are metrics already
        self._open: Any = None  # the step that takes the values of the next calls too

    def log(self, data: Mapping[str, Any], step: Any = None, commit: bool | None = None, **_: Any) -> None:
        """Log metrics of a step; a step that is given, or has `commit=False`, takes the values of the next calls too.

        It ends with a call of another step, and with a call that has `commit=True` or neither argument.
        """
        values = _flatten(data)
        self.summary.update(values)
        self._logged.update(values)
        given = self._open if step is None else step
        _log(values, step=given)
        number = _last_step()
        if number is None:
            number = given if isinstance(given, int) else self.step + 1  # outside a run
        is_open = not commit if commit is not None else step is not None
        self._open = number if is_open else None
        self.step = number if is_open else number + 1

    def finish(self, exit_code: int | None = None, quiet: bool | None = None) -> None:
        """Write what waits, and what the script put into the summary and the config."""
        self._open = None
        self._log_summary()
        keep_config(self.config, bigbatch.config.to_dict())
        _finish()

    def _log_summary(self) -> None:
        """Log what the script put into the summary, at the last step; what is no number is named there."""
        own = {name: value for name, value in _flatten(self.summary).items() if _is_new(self._logged, name, value)}
        if own:
            self._logged.update(own)
            _log(own, step=_last_step())

    def define_metric(self, *names: Any, **options: Any) -> None:
        """Do nothing: every metric is a curve over steps."""

    def watch(self, *models: Any, **options: Any) -> None:
        """Do nothing: gradients are not logged."""
        say("watch")

    def save(self, *paths: Any, **options: Any) -> None:
        """Do nothing: the run's folder has its files."""
        say("save")

    def alert(self, title: Any = "", text: Any = "", level: Any = None, **_: Any) -> None:
        """Write an alert into the run's log."""
        say_alert(title, text)

    def __getattr__(self, name: str) -> type[Ignored]:
        return __getattr__(name)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.finish()


run: Run | None = None
config, summary = Store(), Store()
errors, util = Errors, Tools  # modules of wandb


def init(project: str | None = None, *, config: Any = None, name: str | None = None, **options: Any) -> Run:
    """Return the run of this process; its `config` has the given values, and the run's parameters in their place."""
    global run
    run = run or _new_run()
    run.project, run.name = project or run.project, name or run.name
    say_labels({**options, "project": project, "name": name})
    if config is not None:
        run.config.update(config)
    run.config.update(bigbatch.config.to_dict())
    return run


def log(data: Mapping[str, Any], step: Any = None, commit: bool | None = None, **options: Any) -> None:
    """Log metrics of a step; `init` need not have been called."""
    (run or init()).log(data, step=step, commit=commit)


def finish(exit_code: int | None = None, quiet: bool | None = None) -> None:
    """Write what waits."""
    global run
    if run is not None:
        run.finish()
    run = None


def define_metric(*names: Any, **options: Any) -> None:
    """Do nothing: every metric is a curve over steps."""


def watch(*models: Any, **options: Any) -> None:
    """Do nothing: gradients are not logged."""
    say("watch")


def save(*paths: Any, **options: Any) -> None:
    """Do nothing: the run's folder has its files."""
    say("save")


def alert(title: Any = "", text: Any = "", level: Any = None, **options: Any) -> None:
    """Write an alert into the run's log."""
    say_alert(title, text)


def login(*names: Any, **options: Any) -> bool:
    """Return True: no account is needed."""
    return True


def __getattr__(name: str) -> type[Ignored]:
    """Return what takes the place of a name in LEFT_OUT; raise AttributeError for others."""
    if name not in LEFT_OUT:
        raise AttributeError(f"bigbatch.wandb has no {name!r}: it has the calls that log, not those that read or start")
    say(name)
    return Ignored


def _is_new(logged: Mapping[str, Any], name: str, value: Any) -> bool:
    """Return whether a value of the summary is none that was logged."""
    if name not in logged:
        return True
    number = number_text(value)
    return logged[name] is not value and (number is None or number != number_text(logged[name]))


@atexit.register
def _end() -> None:
    """Keep what a script without `finish` put into the summary and the config."""
    if run is not None:
        run.finish()


def _new_run() -> Run:
    return Run(config, summary)


def _flatten(data: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Return nested metrics as one level, with names as "train/loss"."""
    flat: dict[str, Any] = {}
    for name, value in data.items():
        full = f"{prefix}{name}"
        if isinstance(value, Mapping) and depth < MAX_DEPTH:
            flat.update(_flatten(value, f"{full}/", depth + 1))
        else:
            flat[full] = value
    return flat
