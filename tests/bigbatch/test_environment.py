"""The environments of the service's processes: each process gets the settings that it needs."""

import pytest

from bigbatch.service.environment import NEEDED, environment_of
from contract.settings import SECRETS, Settings

SET = {f"BIGBATCH_{name.upper()}": f"a {name}" for name in Settings.model_fields}
OF_THE_USER = {"PATH": "/bin", "HOME": "/home/me", "CONDA_PREFIX": "/opt/conda", "OMP_NUM_THREADS": "1"}


def test_every_setting_reaches_a_process() -> None:
    assert set().union(*NEEDED.values()) == {*Settings.model_fields}


@pytest.mark.parametrize(
    ("process", "secrets"),
    [
        ("migrations", {"database"}),
        ("api", {"database", "token", "artifact_store_options"}),
        ("check", {"broker"}),
        ("clock", {"database", "broker"}),
        ("worker", {"database", "broker", "artifact_store_options"}),
        ("close", {"database"}),
    ],
)
def test_a_process_gets_the_secrets_that_it_needs_and_not_as_variables(process: str, secrets: set[str]) -> None:
    variables, given = environment_of(process, {**SET, **OF_THE_USER})
    assert given == {name: f"a {name}" for name in secrets}
    assert not {f"a {name}" for name in SECRETS} & {*variables.values()}
    assert variables.items() >= OF_THE_USER.items()


def test_a_secret_in_small_letters_is_a_secret() -> None:
    assert environment_of("worker", {"bigbatch_token": "5ecret", "bigbatch_broker": "b"}) == ({}, {"broker": "b"})


@pytest.mark.parametrize(("process", "is_given"), [("worker", True), ("close", True), ("api", False), ("clock", False)])
def test_the_token_of_slurm_reaches_those_that_call_slurm(process: str, is_given: bool) -> None:
    assert ("SLURM_JWT" in environment_of(process, {"SLURM_JWT": "5ecret"}).variables) == is_given


def test_variables_that_are_no_settings_of_the_service_stay_out() -> None:
    assert environment_of("api", {"BIGBATCH_URL": "http://here", "BIGBATCH_LATER": "x"}) == ({}, {})
