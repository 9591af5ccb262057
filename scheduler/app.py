"""The Celery application: a clock and a pool for the ticks. A tick has no arguments and may run twice, late, or
anywhere.

The broker is Redis for teams and a folder of files on one machine. Results are not stored: the database has them.
"""

import math
import threading
import time
from collections.abc import Callable, Mapping
from functools import cache, wraps
from types import MappingProxyType

from celery import Celery
from celery.signals import worker_ready, worker_shutdown

from contract.private_files import make_private_folder
from contract.settings import Settings
from scheduler import folder_broker
from scheduler.context import Context
from scheduler.submit.submission import finish_open
from scheduler.ticks.cancel import cancel
from scheduler.ticks.delete import delete
from scheduler.ticks.ingest import ingest
from scheduler.ticks.launch import launch
from scheduler.ticks.poll import poll
from scheduler.ticks.prune import prune
from scheduler.ticks.reap import reap
from scheduler.ticks.recover import recover
from scheduler.ticks.refresh_clusters import refresh_clusters
from scheduler.watchdog import Watchdog, watched
from store import ticks
from store.session import transaction

Tick = Callable[[Context], None]
TICKS: Mapping[str, tuple[Tick, float]] = MappingProxyType(  # with the period in seconds
    {
        "launch": (launch, 0.5),
        "ingest": (ingest, 1.0),
        "poll": (poll, 2.0),
        "cancel": (cancel, 1.0),
        "recover": (recover, 2.0),
        "refresh_clusters": (refresh_clusters, 5.0),
        "reap": (reap, 5.0),
        "prune": (prune, 10.0),
        "delete": (delete, 10.0),
    }
)
SUCCESS_STORED_S = 10.0  # at most so often a tick's success is stored, for GET /ready
APART = 0.5  # of its period, at least, between two starts of a tick in one process: a backlog is left out


def make_app(settings: Settings) -> Celery:
    """Return the Celery application for `settings`."""
    app = Celery("bigbatch")
    app.conf.update(
        **_broker(settings),
        task_ignore_result=True,
        task_default_queue="bigbatch",
        worker_pool="threads",  # ticks wait for files, databases and commands
        worker_concurrency=len(TICKS),
        worker_enable_remote_control=False,
        worker_prefetch_multiplier=1,
        broker_connection_retry_on_startup=True,
        beat_scheduler="celery.beat:Scheduler",  # periods alone: nothing is stored on disk
        beat_max_loop_interval=0.5,
        beat_schedule={
            # no `expires`: a worker whose clock is ahead of the beat's host would leave out every tick
            name: {"task": f"bigbatch.{name}", "schedule": period_s}
            for name, (_, period_s) in TICKS.items()
        },
    )
    context = _context(settings)
    for name, (tick, period_s) in TICKS.items():
        app.task(name=f"bigbatch.{name}")(_one_at_a_time(_watched(name, tick, period_s), context, APART * period_s))

    @worker_ready.connect(weak=False)
    def first_report(**_: object) -> None:
        periods_s = {name: period_s for name, (_, period_s) in TICKS.items()}
        with transaction(context().engine) as db:
            ticks.begin(db, periods_s)
        Watchdog.of(context().memory, periods_s).start()
        refresh_clusters(context())  # a user who waits for the service does not wait for its clock

    @worker_shutdown.connect(weak=False)
    def last_steps(**_: object) -> None:
        finish_open(context())
        with transaction(context().engine) as db:
            ticks.end(db)

    return app


def _context(settings: Settings) -> Callable[[], Context]:
    """Return a function that makes the worker's one context at its first tick."""
    made, making = cache(lambda: Context.of(settings)), threading.Lock()

    def context() -> Context:
        with making:  # the first ticks start together
            return made()

    return context


def _broker(settings: Settings) -> dict[str, object]:
    if settings.broker:
        return {"broker_url": settings.broker}
    queue, control = settings.home_folder() / "broker", settings.home_folder() / "broker-control"
    for folder in (settings.home_folder(), queue, control):
        make_private_folder(folder)
    options = {
        "data_folder_in": str(queue),
        "data_folder_out": str(queue),
        "control_folder": str(control),
        "polling_interval": 0.05,  # kombu's default is a second
    }
    return {"broker_url": folder_broker.URL, "broker_transport_options": options}


def _watched(name: str, tick: Tick, period_s: float) -> Tick:
    """Return the tick so that the watchdog watches it, and so that its successes are stored from time to time."""

    @wraps(tick)
    def run(context: Context) -> None:
        stored_at = context.memory.success_stored_at
        with watched(context.memory, name):
            tick(context)
            if time.monotonic() - stored_at.get(name, -math.inf) >= SUCCESS_STORED_S:
                with transaction(context.engine) as db:
                    ticks.store_success(db, name, period_s)
                stored_at[name] = time.monotonic()

    return run


def _one_at_a_time(tick: Tick, context: Callable[[], Context], apart_s: float) -> Callable[[], None]:
    """Return the tick, left out in this process while the one before runs, or if that started a moment ago.

    Slow ticks must not fill the pool, and ticks that piled up without a worker must not run all at once.
    """
    lock, began = threading.Lock(), -math.inf

    @wraps(tick)
    def run() -> None:
        nonlocal began
        if lock.acquire(blocking=False):
            try:
                if time.monotonic() - began >= apart_s:
                    began = time.monotonic()
                    tick(context())
            finally:
                lock.release()

    del run.__wrapped__  # Celery would read the tick's own argument through it
    return run
