"""Targets, rules and deliveries over HTTP; no answer, no error and no log line has an address or a secret."""

import logging
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.lifecycle.state import State
from store.session import snapshot, transaction
from store.tables.notify import NotifyTarget
from store.tables.runs import Run
from tests.testing.api import SPEC, post
from tests.testing.receiver import SECRET
from tests.testing.stored_runs import TO_RUNNING, move

TARGETS, RULES, DELIVERIES = (f"/api/v1/notifications/{name}" for name in ("targets", "rules", "deliveries"))
HOOK = {"name": "hook", "kind": "webhook", "address": "https://hooks.example.org/very-secret", "secret": SECRET}
SLACK = {"name": "slack", "kind": "apprise", "address": "slack://T1JJ3T3L2/A1BRTD4JD/very-secret"}
NOTIFY = "notify: [{target: hook}]\n"
HIDDEN = ("very-secret", "whsec_", "p4ssword")


def add(client: TestClient, **fields: Any) -> Any:
    answer = client.post(TARGETS, json={**HOOK, **fields}, headers={"Bigbatch-User": "ada"})
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_target_is_shown_without_what_is_secret(client: TestClient, sqlite_engine: Engine) -> None:
    created = add(client)
    assert created["shown"] == "https://hooks.example.org/..."
    assert created["owner"] == "ada"
    client.post(TARGETS, json=SLACK)
    mail = {"name": "mail", "kind": "apprise", "address": "mailtos://bob:p4ssword@mail.example.org:587?to=a@b.org"}
    client.post(TARGETS, json=mail)
    listed = client.get(TARGETS)
    assert [one["shown"] for one in listed.json()["targets"]] == [
        *("https://hooks.example.org/...", "mailtos://mail.example.org", "slack://...")
    ]
    client.post(f"{TARGETS}/1/test")
    for text in (listed.text, client.get(DELIVERIES).text, client.patch(f"{TARGETS}/1", json={"name": "h"}).text):
        assert not any(word in text for word in HIDDEN)
    with snapshot(sqlite_engine) as db:
        stored = db.get_one(NotifyTarget, 1)
        assert (stored.address, stored.secret) == (HOOK["address"], SECRET)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"secret": None}, ""),
        ({"secret": "very-secret"}, "secret"),
        ({"secret": "whsec_c2hvcnQ="}, "secret"),
        ({"address": "ftp://very-secret"}, ""),
        ({"address": "https://bob:p4ssword@hooks.example.org/"}, ""),
        ({"address": "https://hooks.example.org/very-secret more"}, ""),
        ({"address": "https://[very-secret"}, ""),
        ({"address": "https://hooks.example.org:very-secret/"}, ""),
        ({"kind": "apprise"}, ""),
        ({"kind": "apprise", "secret": None, "address": "json://very-secret"}, ""),
        ({"kind": "apprise", "secret": None, "address": "syslog://very-secret"}, ""),
        ({"name": "two words"}, "name"),
        ({"name": ""}, "name"),
        ({"kind": "very-secret"}, "kind"),
        ({"whsec_": 1}, "whsec_"),
        ({"address": ["very-secret"]}, "address"),
    ],
)
def test_a_target_that_is_not_valid_is_refused_without_a_repeat_of_its_secrets(
    client: TestClient, caplog: pytest.LogCaptureFixture, fields: dict[str, Any], path: str
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = client.post(TARGETS, json={**HOOK, **fields})
    assert answer.status_code == 422, answer.text
    assert [one["path"] for one in answer.json()["errors"]] == [path]
    if "whsec_" not in fields:
        text = answer.json()["errors"][0]["message"].replace("whsec_ and 24", "") + caplog.text
        assert not any(word in text for word in HIDDEN), text


def test_a_name_is_used_once_and_a_target_can_be_changed(client: TestClient, sqlite_engine: Engine) -> None:
    add(client)
    add(client, name="other")
    assert client.post(TARGETS, json=HOOK).status_code == 409
    assert client.patch(f"{TARGETS}/2", json={"name": "hook"}).status_code == 409
    change = {"name": "renamed", "address": "https://new.example.org/x"}
    assert client.patch(f"{TARGETS}/2", json=change).json()["shown"] == "https://new.example.org/..."
    assert client.patch(f"{TARGETS}/2", json={"address": "slack://a/b/c"}).status_code == 422
    assert client.patch(f"{TARGETS}/7", json={}).status_code == 404
    client.post(TARGETS, json=SLACK)
    assert client.patch(f"{TARGETS}/3", json={"secret": SECRET}).status_code == 422
    with snapshot(sqlite_engine) as db:
        assert db.get_one(NotifyTarget, 2).name == "renamed"


def test_a_test_message_waits_for_the_scheduler(client: TestClient) -> None:
    add(client)
    sent = client.post(f"{TARGETS}/1/test", headers={"Bigbatch-User": "ada"})
    assert sent.status_code == 201
    assert sent.json()["title"] == "A test of the target hook by ada"
    assert (sent.json()["status"], sent.json()["attempts"], sent.json()["event"]) == ("waiting", 0, "test")
    assert client.get(TARGETS).json()["targets"][0]["waiting"] == 1
    assert client.get(DELIVERIES).json()["deliveries"] == [sent.json()]
    assert client.post(f"{TARGETS}/2/test").status_code == 404


@pytest.mark.ring("all")
def test_rules_are_of_an_experiment_of_an_owner_or_of_all(client: TestClient) -> None:
    add(client)
    assert post(client, SPEC + "owner: ada\n").status_code == 201
    assert post(client, SPEC + "owner: bob\n").status_code == 201
    rules = [{"experiment_id": 1}, {"owner": "ada"}, {"owner": "bob"}, {}]
    for rule in rules:
        assert client.post(RULES, json={"target": "hook", "on": ["end"], **rule}).status_code == 201
    assert len(client.get(RULES).json()["rules"]) == 4
    of_first = client.get(RULES, params={"experiment": 1}).json()["rules"]
    assert [(one["experiment_id"], one["owner"]) for one in of_first] == [(1, None), (None, "ada"), (None, None)]
    assert client.delete(f"{RULES}/1").status_code == 204
    assert client.delete(f"{RULES}/1").status_code == 404
    assert client.delete(f"{TARGETS}/1").status_code == 204
    assert client.get(RULES).json()["rules"] == []


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("rule", "status"),
    [
        ({"target": "none", "on": ["end"]}, 422),
        ({"target": "hook", "on": []}, 422),
        ({"target": "hook", "on": ["lunch"]}, 422),
        ({"target": "hook", "on": ["end"], "experiment_id": 9}, 404),
        ({"target": "hook", "on": ["end"], "experiment_id": 1, "owner": "ada"}, 422),
        ({"target": "hook", "on": ["end"], "owner": ""}, 422),
    ],
)
def test_a_rule_that_is_not_valid_is_refused(client: TestClient, rule: dict[str, Any], status: int) -> None:
    add(client)
    assert client.post(RULES, json=rule).status_code == status


def test_a_spec_names_targets_that_exist(client: TestClient) -> None:
    add(client)
    refused = post(client, SPEC + "notify: [{target: hook}, {target: nobody, on: [failure]}]\n")
    assert refused.status_code == 422
    assert [one["path"] for one in refused.json()["errors"]] == ["notify.1.target"]
    assert post(client, SPEC + NOTIFY).status_code == 201
    rules = client.get(RULES, params={"experiment": 1}).json()["rules"]
    assert [(one["target"], one["on"]) for one in rules] == [("hook", ["end", "failure"])]


def test_the_rules_of_a_deleted_experiment_are_removed_with_it(client: TestClient, sqlite_engine: Engine) -> None:
    from store.lifecycle import deletion

    add(client)
    for _ in range(2):
        assert post(client, SPEC + NOTIFY).status_code == 201
    with transaction(sqlite_engine) as db:
        for run_id in [run.id for run in db.query(Run).filter(Run.experiment_id == 1)]:
            for state in (*TO_RUNNING, State.DONE):
                move(db, db.get_one(Run, run_id), state)
        deletion.mark_experiment(db, 1)
    with transaction(sqlite_engine) as db:
        for run in db.query(Run.id).filter(Run.experiment_id == 1).all():
            while not deletion.remove_rows(db, run.id, 100):
                pass
        deletion.remove_experiments(db, deletion.removable_experiments(db, 100))
    assert [one["experiment_id"] for one in client.get(RULES).json()["rules"]] == [2]
