"""Pages as the dashboard has them: a stream each, and a request for new curves when the stream says so."""

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx


@dataclass
class Page:
    """One open page of an experiment, and the moments at which it knew of steps."""

    url: str
    token: str
    experiment_id: int
    events: list[tuple[int, int, float]] = field(default_factory=list)  # run, its newest step, arrival of the event
    answers: list[tuple[int, int, float]] = field(default_factory=list)  # the same of the curves
    requests: int = 0
    mark: str = ""  # of the newest event
    end: threading.Event = field(default_factory=threading.Event)

    def start(self) -> list[threading.Thread]:
        """Open the page; return its threads."""
        news = threading.Event()
        threads = [threading.Thread(target=work, args=(news,)) for work in (self._follow, self._ask)]
        for thread in threads:
            thread.start()
        return threads

    def _client(self) -> httpx.Client:
        headers = {"authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=httpx.Timeout(60, read=30))

    def _follow(self, news: threading.Event) -> None:
        query = {"experiment": self.experiment_id}
        with self._client() as client, client.stream("GET", "/events", params=query) as response:
            for line in response.iter_lines():
                if self.end.is_set():
                    break
                if line.startswith('data: {"runs"'):
                    arrived = time.time()
                    changed = json.loads(line.removeprefix("data: "))
                    runs, self.mark = changed["runs"], changed["mark"]
                    self.events += [(run["id"], run["step"], arrived) for run in runs if run["has_points"]]
                    if runs:
                        news.set()
        news.set()

    def _ask(self, news: threading.Event) -> None:
        """Ask for the curves from their last buckets on, one request at a time, at most five a second."""
        after: dict[int, int] = {}
        with self._client() as client:
            while not self.end.is_set():
                news.wait(60)
                news.clear()
                began = time.monotonic()
                cursors = [f"{run}:{step - 1}" for run, step in after.items() if step > 0]
                query: dict[str, str | int | Sequence[str]] = {"name": "loss", "buckets": 1300, "after": cursors}
                path, headers = f"/experiments/{self.experiment_id}/curves", {"Bigbatch-After": self.mark}
                answer = client.get(path, params=query, headers=headers).raise_for_status()
                arrived, self.requests = time.time(), self.requests + 1
                for curve in answer.json()["curves"]:
                    self.answers.append((curve["run_id"], curve["last_step"], arrived))
                    after[curve["run_id"]] = curve["steps"][-1] if curve["steps"] else 0
                self.end.wait(max(0.0, 0.2 - (time.monotonic() - began)))
