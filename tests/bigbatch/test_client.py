"""Tests of the typed client against the real API, and against simulated faults."""

import json
from urllib.parse import parse_qsl, urlsplit

import httpx
import numpy as np
import pytest

from bigbatch import ApiError, BigbatchError, Client, Unreachable, client, connection
from contract.access.service_record import recorded_service
from contract.lifecycle.state import State
from contract.spec.experiment import ExperimentSpec
from contract.yaml_reader import read_document
from tests.testing import seed_runs
from tests.testing.api import TOKEN, target
from tests.testing.command import SPEC, Site


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "RETRY_DELAYS_S", (0.01, 0.01))


def answering(*answers: httpx.Response | httpx.TransportError) -> tuple[Client, list[httpx.Request]]:
    """A client whose service gives `answers`, one after the other, and the requests that it gets."""
    waiting, asked = list(answers), list[httpx.Request]()

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        given = waiting.pop(0)
        if isinstance(given, httpx.TransportError):
            raise given
        return given

    return Client("http://service", transport=httpx.MockTransport(answer)), asked


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("spec", [SPEC, read_document(SPEC), ExperimentSpec.model_validate(read_document(SPEC))])
def test_an_experiment_is_created_from_text_a_dict_or_a_model(client: Client, spec: object) -> None:
    created = client.create(spec)  # type: ignore[arg-type]
    assert client.experiment(created.id).spec == ExperimentSpec.model_validate(read_document(SPEC))
    assert [run.id for run in client.runs(created.id)] == created.runs
    assert client.run(created.runs[1]).spec.schedule.rate == 0.1


def test_scalars_of_numpy_are_values_of_a_document_and_nan_is_refused_by_its_field(client: Client) -> None:
    rates = [np.float32(0.1), np.float64(0.3), np.array(0.5)]
    document = {**read_document(SPEC), "axes": {"schedule.rate": rates, "seed": np.arange(2)}}
    made = client.create(document)
    values = [run.values for run in client.runs(made.id)]
    assert values == [{"schedule.rate": rate, "seed": seed} for rate in (0.1, 0.3, 0.5) for seed in (0, 1)]
    assert [type(one["seed"]) for one in values] == [int] * 6
    with pytest.raises(ApiError, match=r"schedule\.rate"):
        client.create({**document, "axes": {"schedule.rate": [np.float32("nan")]}})
    with pytest.raises(BigbatchError, match="no object"):
        client.create({**document, "name": object()})


def test_a_value_that_json_has_no_word_for_is_the_services_to_refuse(client: Client) -> None:
    with pytest.raises(ApiError) as refused:
        client.create({**read_document(SPEC), "axes": {"schedule.rate": [float("inf")]}})
    assert refused.value.status in (400, 422)


@pytest.mark.ring("all")
def test_lists_go_on_page_after_page(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigbatch.client.PAGE", 2)
    ids = [client.create(SPEC.replace("[0.05, 0.1]", "[0.1, 0.2, 0.3, 0.4, 0.5]")).id for _ in range(5)]
    assert [e.id for e in client.experiments(limit=5)] == ids[::-1]
    assert [e.id for e in client.experiments(before=ids[-1], limit=3)] == ids[-2:0:-1]
    assert {e.id for e in client.experiments()} >= set(ids)
    assert [run.number for run in client.runs(ids[0])] == [0, 1, 2, 3, 4]
    assert [run.number for run in client.runs(ids[0], after=1)] == [2, 3, 4]


def test_points_and_logs_are_read_on(client: Client, site: Site) -> None:
    run_id = client.create(SPEC).runs[0]
    seed_runs.measure(site, run_id, 5, loss=0.5, learning_rate=0.1)
    assert client.points(run_id).series["loss"].steps == [1, 2, 3, 4, 5]
    assert client.points(run_id, ["loss"], after=3).series.keys() == {"loss"}
    assert client.points(run_id, ["loss"], after=3).series["loss"].values == [0.5, 0.5]
    seed_runs.log_of(site, run_id).log.write_text("one\ntwo\n")
    assert client.log(run_id).text == "one\ntwo\n"
    assert client.log(run_id, -4).text == "two\n"


def test_points_that_do_not_fit_into_one_answer_are_asked_for_again() -> None:
    def part(first: int, more: bool) -> httpx.Response:
        column = {"steps": [first, first + 1], "values": [0.5, None]}
        return httpx.Response(200, json={"series": {"loss": column}, "more": more})

    client, asked = answering(part(1, True), part(3, True), part(5, False))
    points = client.points(7)
    assert points.series["loss"].steps == [1, 2, 3, 4, 5, 6]
    assert not points.more
    assert [request.url.params["after"] for request in asked] == ["-1", "2", "4"]


def test_what_was_asked_to_stop_is_counted(client: Client, site: Site) -> None:
    created = client.create(SPEC)
    seed_runs.move(site, created.runs[0], [State.CANCELLED])
    assert client.stop_experiment(created.id).stopping == 1
    assert client.stop_run(created.runs[0]).stopping == 0


def test_the_service_tells_how_it_is(client: Client) -> None:
    assert client.health().ok
    assert client.clusters() == []
    assert client.ready().scheduler == "has not reported yet"


def test_an_error_names_every_field_on_a_line_of_its_own(client: Client) -> None:
    with pytest.raises(ApiError) as refused:
        client.create(SPEC.replace("batch: 64", "batch: 0").replace("kind: sgd", "kind: sgd, momentun: 1"))
    assert refused.value.status == 422
    lines = str(refused.value).splitlines()
    assert lines[0] == refused.value.problem.detail
    assert {line.split(":")[0] for line in lines[1:]} == {"base.batch", "base.optimizer.momentun"}


def test_what_is_not_there_is_an_api_error(client: Client) -> None:
    with pytest.raises(ApiError, match="there is no run 123456"):
        client.run(123456)


def test_nobody_there_says_how_to_start_the_service() -> None:
    with pytest.raises(Unreachable, match=r"no service answers at http://127\.0\.0\.1:1 .*`bigbatch up`"):
        Client("http://127.0.0.1:1").health()


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://service", "http://", "http://service:port"])
def test_an_address_that_is_none_is_named(url: str) -> None:
    with pytest.raises(BigbatchError, match="is not a valid address"):
        Client(url).health()


def test_a_read_is_tried_again() -> None:
    client, asked = answering(
        httpx.ConnectError("refused"), httpx.Response(503), httpx.Response(200, json={"ok": True, "version": "1"})
    )
    assert client.health().ok
    assert len(asked) == 3


def test_a_read_is_not_tried_for_ever() -> None:
    client, asked = answering(*[httpx.ReadTimeout("slow")] * 5)
    with pytest.raises(Unreachable, match="closed the connection"):
        client.health()
    assert len(asked) == 3


def test_a_write_without_a_key_is_sent_once() -> None:
    client, asked = answering(httpx.ReadTimeout("slow"), httpx.Response(200, json={}))
    with pytest.raises(Unreachable, match="check before you repeat it"):
        client.stop_run(1)
    assert len(asked) == 1


def test_an_experiment_is_sent_again_under_its_key() -> None:
    client, asked = answering(httpx.ReadTimeout("slow"), httpx.Response(201, json={"id": 1, "runs": []}))
    assert client.create(SPEC).id == 1
    first, second = (request.headers["Idempotency-Key"] for request in asked)
    assert first == second


def test_an_answer_of_another_service_is_told_apart() -> None:
    page = httpx.Response(200, text="<html>")
    client, _ = answering(page, page, httpx.Response(404, text="<html>"))  # twice: also to the question for its version
    with pytest.raises(BigbatchError, match="is not a Bigbatch response"):
        client.health()
    with pytest.raises(ApiError, match="answered 404 Not Found, which is not a Bigbatch response"):
        client.health()


def test_a_service_with_a_token_is_told_it(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ApiError, match="set BIGBATCH_TOKEN"):
        Client(site.url).clusters()
    assert Client(site.url, TOKEN).clusters() == []
    monkeypatch.setenv("BIGBATCH_TOKEN", TOKEN)
    assert Client(site.url).clusters() == []


def test_a_sign_in_link_has_its_code_where_no_log_contains_it(site: Site) -> None:
    link = urlsplit(Client(site.url, TOKEN).sign_in_url("/runs/1?a=b"))
    assert (link.path, link.query) == ("/sign-in", "")
    assert TOKEN not in link.fragment
    answer = httpx.post(f"{site.url}/sign-in", data=dict(parse_qsl(link.fragment)))
    assert (answer.status_code, target(answer)) == (303, "/runs/1?a=b")
    with pytest.raises(BigbatchError, match="set BIGBATCH_TOKEN"):
        Client(site.url).sign_in_url()


def test_a_local_services_token_is_not_sent_to_another_address() -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json=[])

    transport = httpx.MockTransport(answer)
    with recorded_service("127.0.0.1", 8000, TOKEN):
        for url in (
            "http://127.0.0.1:8000",
            "http://127.0.0.1:8001",
            "http://localhost:8000",
            "http://big.example:8000",
        ):
            Client(url, transport=transport).clusters()
    assert [request.headers.get("authorization") for request in asked] == [f"Bearer {TOKEN}", None, None, None]


def test_a_token_that_no_header_can_carry_is_refused() -> None:
    with pytest.raises(BigbatchError, match="not allowed in an HTTP header"):
        Client("http://service", "g\u00e9heim\n")


def test_the_documents_sent_are_whole() -> None:
    client, asked = answering(*[httpx.Response(201, json={"id": 1, "runs": []})] * 2)
    client.create(SPEC)
    client.create(read_document(SPEC))
    assert asked[0].headers["content-type"] == "application/yaml"
    assert json.loads(asked[1].content) == read_document(SPEC)


def test_the_page_size_is_within_what_the_api_takes() -> None:
    assert client.PAGE <= 500


def test_an_address_may_have_a_path_and_links_have_the_address_that_people_open(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[httpx.URL] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        return httpx.Response(200, json=[])

    monkeypatch.setenv("BIGBATCH_URL", "http://lab.example/bigbatch/")
    with Client(token=TOKEN, transport=httpx.MockTransport(answer)) as client:
        client.clusters()
        assert client.experiment_url(7) == "http://lab.example/bigbatch/experiments/7"
        assert client.sign_in_url().startswith("http://lab.example/bigbatch/sign-in#")
    assert asked == ["http://lab.example/bigbatch/api/v1/clusters"]
    monkeypatch.setenv("BIGBATCH_PUBLIC_URL", "https://portal.example/node/n1/8000/")
    monkeypatch.setenv("BIGBATCH_URL", site.url)
    with Client(token=TOKEN) as client:
        assert client.experiment_url(7) == "https://portal.example/node/n1/8000/experiments/7"
        assert client.sign_in_url().startswith("https://portal.example/node/n1/8000/sign-in#")
        assert client.health().ok, "requests go to the address of the service"


def test_links_to_another_service_have_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: the address of the dashboard of one's own service was that of every service."""
    monkeypatch.setenv("BIGBATCH_PUBLIC_URL", "https://portal.example/node/n1/8000/")
    with Client("https://other.example", TOKEN) as client:
        assert client.sign_in_url().startswith("https://other.example/sign-in#")
    with Client(connection.DEFAULT_URL, TOKEN, pages_url="https://pages.example/") as client:
        assert client.experiment_url(7) == "https://pages.example/experiments/7"
    monkeypatch.delenv("BIGBATCH_URL", raising=False)
    with Client(token=TOKEN) as client:
        assert client.experiment_url(7) == "https://portal.example/node/n1/8000/experiments/7"
    monkeypatch.setenv("BIGBATCH_URL", "https://other.example")
    with Client(token=TOKEN) as client:
        assert client.experiment_url(7) == "https://other.example/experiments/7"


def test_a_wrong_address_of_the_dashboard_is_told_where_a_link_is_made(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: every command failed."""
    monkeypatch.setenv("BIGBATCH_PUBLIC_URL", "portal.example")
    monkeypatch.setenv("BIGBATCH_URL", site.url)
    with Client(token=TOKEN) as client:
        assert client.health().ok
        with pytest.raises(BigbatchError, match=r"BIGBATCH_PUBLIC_URL: 'portal\.example' is not a valid address"):
            client.experiment_url(7)


@pytest.mark.parametrize(
    "url", ["http://lab.example/?a=b", "http://lab.example/#a", "lab.example", "ftp://lab.example"]
)
def test_an_address_that_no_path_can_follow_is_refused(url: str) -> None:
    with pytest.raises(BigbatchError, match="is not a valid address: use http"):
        Client(url, TOKEN)
