"""`bigbatch schedule`: the command stores, shows, pauses and deletes schedules."""

from pathlib import Path

import pytest

from bigbatch.client import Client
from tests.testing.command import Call


@pytest.mark.ring("all")
def test_a_schedule_is_added_shown_paused_and_deleted(client: Client, call: Call, spec: Path) -> None:
    added = call("schedule", "add", "nightly", spec, "--cron", "30 2 * * *", "--time-zone", "Europe/Berlin")
    assert "schedule nightly: 30 2 * * * (Europe/Berlin), next 20" in added.out, added.err
    assert "nightly" in call("schedule", "list").out
    assert "missed run_once, overlap skip" in call("schedule", "show", "nightly").out
    assert "paused" in call("schedule", "pause", "nightly").out
    assert "UTC" in call("schedule", "resume", "nightly").out
    assert call("schedule", "delete", "nightly").code == 0
    assert "there is no schedule nightly" in call("schedule", "pause", "nightly").err


def test_a_schedule_needs_moments_or_a_file(client: Client, call: Call, spec: Path) -> None:
    called = call("schedule", "add", "nightly", spec)
    assert called.code != 0
    assert "either `cron` or `path`" in called.err
    refused = call("schedule", "add", "nightly", spec, "--path", "/etc/passwd")
    assert "BIGBATCH_TRIGGER_FOLDERS" in refused.err
