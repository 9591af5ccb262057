"""The Celery application of the worker: a pool for the ticks. A tick has no arguments and may run twice, late, or
anywhere. Results are not stored: the database has them.
"""

import math
import threading
import time
from collections.abc import Callable, Mapping
from functools import cache, wraps
from types import MappingProxyType

from celery import Celery
from celery.signals import worker_ready, worker_shutdown

from contract.settings import Settings
from scheduler.celery_app import PERIODS_S, make_celery
from scheduler.context import Context
from scheduler.notify.compare_curves import find_divergences
from scheduler.submit.submission import finish_open
from scheduler.tensorboard.event_files import write_event_files
from scheduler.ticks.cancel import cancel
from scheduler.ticks.delete import delete
from scheduler.ticks.ingest import ingest_and_follow
from scheduler.ticks.launch import launch
from scheduler.ticks.mark import mark
from scheduler.ticks.mirror import mirror
from scheduler.ticks.notify import notify
from scheduler.ticks.plan import plan
from scheduler.ticks.poll import poll
from scheduler.ticks.prune import prune
from scheduler.ticks.reap import reap
from scheduler.ticks.recover import recover
from scheduler.ticks.refresh_clusters import refresh_clusters
from scheduler.ticks.reuse import check_waiting_runs
from scheduler.ticks.schedule import schedule
from scheduler.ticks.search import search
from scheduler.watchdog import Watchdog, watched
from store import ticks
from store.session import transaction

Tick = Callable[[Context], None]
TICKS: Mapping[str, tuple[Tick, float]] = MappingProxyType(  # with the period in seconds
    {
        name: (tick, PERIODS_S[name])
        for name, tick in {
            "launch": launch,
            "reuse": check_waiting_runs,
            "ingest": ingest_and_follow,
            "plan": plan,
            "poll": poll,
            "cancel": cancel,
            "recover": recover,
            "refresh_clusters": refresh_clusters,
            "search": search,
            "notify": notify,
            "schedule": schedule,
            "divergence": find_divergences,
            "reap": reap,
            "prune": prune,
            "mirror": mirror,
            "delete": delete,
            "mark": mark,
            "tensorboard": write_event_files,
        }.items()
    }
)
SUCCESS_STORED_S = 10.0  # at most so often a tick's success is stored, for GET /ready
APART = 0.5  # of its period, at least, between two starts of a tick in one process: a backlog is left out


def make_app(settings: Settings) -> Celery:
    """Return the Celery application of a worker for `settings`."""
    app = make_celery(settings)
    app.conf.update(worker_concurrency=len(TICKS))
    context = _context(settings)
    for name, (tick, period_s) in TICKS.items():
        app.task(name=f"bigbatch.{name}")(_one_at_a_time(_watched(name, tick, period_s), context, APART * period_s))

    @worker_ready.connect(weak=False)
    def first_report(**_: object) -> None:
        periods_s = {name: period_s for name, (_, period_s) in TICKS.items()}
        with transaction(context().engine) as db:
            ticks.begin(db, periods_s)
        Watchdog.of(context().memory, periods_s).start()
        # a user who waits for the service does not wait for its clock; the worker takes no tick before this function
        # has returned, so the report is a tick as every other
        app.send_task("bigbatch.refresh_clusters")

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


def _watched(name: str, tick: Tick, period_s: float) -> Tick:
    """Return the tick so that the watchdog watches it, and so that its successes are stored from time to time."""

    @wraps(tick)
    def run(context: Context) -> None:
        stored_at, counts = context.memory.success_stored_at, context.memory.tick_counts[name]
        began = time.monotonic()
        with watched(context.memory, name):
            try:
                tick(context)
            except BaseException:
                counts.failures += 1
                raise
            counts.runs += 1
            counts.seconds += time.monotonic() - began
            if time.monotonic() - stored_at.get(name, -math.inf) >= SUCCESS_STORED_S:
                with transaction(context.engine) as db:
                    ticks.store_success(db, name, period_s, counts)
                del context.memory.tick_counts[name]
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
