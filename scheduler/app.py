"""Celery as clock and pool. A tick carries nothing, may run twice, late, or on another worker.

The broker is Redis for teams and a folder of files on one machine. Results are not kept: what a tick has done stands
in the database.
"""

import math
import threading
import time
from collections.abc import Callable
from functools import cache, wraps

from celery import Celery
from celery.signals import worker_ready, worker_shutdown

from contract.settings import Settings
from scheduler import folder_broker
from scheduler.context import Site
from scheduler.submit.submission import finish
from scheduler.ticks.cancel import stop
from scheduler.ticks.ingest import collect
from scheduler.ticks.launch import launch_promptly
from scheduler.ticks.poll import look
from scheduler.ticks.reap import sweep
from scheduler.ticks.recover import recover
from scheduler.ticks.refresh_clusters import observe

TICKS: dict[str, Callable[[Site], None]] = {
    "launch": launch_promptly,
    "collect": collect,
    "look": look,
    "stop": stop,
    "recover": recover,
    "observe": observe,
    "sweep": sweep,
}
PERIODS_S = {"launch": 0.5, "collect": 1.0, "look": 2.0, "stop": 1.0, "recover": 2.0, "observe": 5.0, "sweep": 5.0}
APART = 0.5  # of its period, at least, between the beginnings of a tick in one process: a backlog is left out


def make_app(settings: Settings) -> Celery:
    """The Celery application that `settings` describe; its options are written out once, here."""
    app = Celery("bigbatch")
    app.conf.update(
        **_broker(settings),
        task_ignore_result=True,
        task_default_queue="bigbatch",
        worker_pool="threads",  # ticks wait for files, databases and commands
        worker_concurrency=len(PERIODS_S),
        worker_enable_remote_control=False,
        worker_prefetch_multiplier=1,
        broker_connection_retry_on_startup=True,
        beat_scheduler="celery.beat:Scheduler",  # periods alone: nothing to keep on disk
        beat_max_loop_interval=0.5,
        beat_schedule={
            # no `expires`: a worker whose clock is ahead of its clock's host would leave out every tick
            name: {"task": f"bigbatch.{name}", "schedule": period_s}
            for name, period_s in PERIODS_S.items()
        },
    )
    site = _site(settings)
    for name, tick in TICKS.items():
        app.task(name=f"bigbatch.{name}")(_alone(tick, site, APART * PERIODS_S[name]))

    @worker_ready.connect(weak=False)
    def first_look(**_: object) -> None:
        observe(site())  # whoever waits for the service need not wait for its clock

    @worker_shutdown.connect(weak=False)
    def last_steps(**_: object) -> None:
        finish(site())

    return app


def _site(settings: Settings) -> Callable[[], Site]:
    """The worker's one site, made at its first tick: what another had begun or started, nobody would go on with."""
    made, making = cache(lambda: Site.of(settings)), threading.Lock()

    def site() -> Site:
        with making:  # the first ticks begin together
            return made()

    return site


def _broker(settings: Settings) -> dict[str, object]:
    if settings.broker:
        return {"broker_url": settings.broker}
    queue, control = settings.home_folder() / "broker", settings.home_folder() / "broker-control"
    for folder in (queue, control):
        folder.mkdir(parents=True, exist_ok=True)
    options = {
        "data_folder_in": str(queue),
        "data_folder_out": str(queue),
        "control_folder": str(control),
        "polling_interval": 0.05,  # kombu's own is a second
    }
    return {"broker_url": folder_broker.URL, "broker_transport_options": options}


def _alone(tick: Callable[[Site], None], site: Callable[[], Site], apart_s: float) -> Callable[[], None]:
    """The tick, left out in this process when the one before has not ended, or has begun a moment ago.

    Slow ticks must not fill the pool, and those that piled up while no worker was there must not come all at once.
    """
    lock, began = threading.Lock(), -math.inf

    @wraps(tick)
    def run() -> None:
        nonlocal began
        if lock.acquire(blocking=False):
            try:
                if time.monotonic() - began >= apart_s:
                    began = time.monotonic()
                    tick(site())
            finally:
                lock.release()

    del run.__wrapped__  # Celery would read the tick's own argument through it
    return run
