"""An attempt of an own program: what the agent starts, writes and reports, read by the scheduler's own readers."""

import json
import os
import sys
from pathlib import Path

import pytest
import yaml

from contract.folder.events import Failed, Finished, Paused, Started
from contract.folder.run_folder import RunFolder
from contract.lifecycle.failure import FailureKind
from tests.testing.programs import events_of, kinds_of, program_folder, run_agent

TWO = {"kind": "local", "ranks_per_node": 2}


@pytest.mark.ring("all")
def test_every_rank_gets_its_numbers_and_one_address(tmp_path: Path) -> None:
    names = "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK MASTER_ADDR MASTER_PORT BIGBATCH_ATTEMPT"
    line = f"echo {' '.join(f'${name}' for name in names.split())} > rank-$RANK"
    folder = program_folder(tmp_path, line, resources=TWO)
    assert run_agent(folder) == 0
    first, second = [(folder.path / f"rank-{rank}").read_text().split() for rank in range(2)]
    assert (first[:6], second[:6]) == (["0", "2", "0", "2", "0", "127.0.0.1"], ["1", "2", "1", "2", "0", "127.0.0.1"])
    assert first[6:] == second[6:]
    assert 0 < int(first[6]) < 65536


def test_each_rank_sees_the_gpus_of_all_ranks_of_its_node(tmp_path: Path) -> None:
    resources = {**TWO, "gpus_per_rank": 2}
    folder = program_folder(tmp_path, "echo $CUDA_VISIBLE_DEVICES > rank-$RANK", resources=resources)
    assert run_agent(folder) == 0
    assert [(folder.path / f"rank-{rank}").read_text() for rank in range(2)] == ["0,1,2,3\n"] * 2


def test_the_scheduler_reads_what_the_agent_writes(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, ["true"], resources=TWO, steps=7)
    assert run_agent(folder, environment={"BIGBATCH_JOB": "bigbatch-cafe-1"}) == 0
    started, finished = events_of(folder)
    assert isinstance(started, Started)
    assert (started.attempt, started.world, len(started.hosts), started.steps) == (1, 2, 2, 7)
    assert isinstance(finished, Finished)
    assert finished.ran_s is not None
    assert 0.0 <= finished.ran_s <= finished.at - started.at + 1.0
    holder = folder.read_claim(1)
    assert holder is not None
    assert holder.startswith("bigbatch-cafe-1@")
    beat = folder.read_heartbeat(1)
    assert beat is not None
    assert beat.age_s < 600
    point = folder.read_rendezvous(1)
    assert point is not None
    assert (folder.path / "attempts" / "1.rendezvous").stat().st_mode & 0o077 == 0
    assert folder.latest_attempt() == 1


def test_a_failed_rank_is_recorded_with_its_status_and_the_others_are_ended(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "if [ $RANK = 1 ]; then exit 7; fi; sleep 600", resources=TWO)
    assert run_agent(folder) == 1
    (failure,) = folder.read_rank_failures(1)
    assert (failure.rank, failure.kind) == (1, FailureKind.UNKNOWN)
    assert failure.reason.endswith("left with status 7")
    failed = events_of(folder)[-1]
    assert isinstance(failed, Failed)
    assert (failed.rank, failed.failure) == (1, FailureKind.UNKNOWN)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(("name", "kind"), [("KILL", FailureKind.SIGNAL), ("SEGV", FailureKind.SIGNAL)])
def test_a_rank_that_a_signal_ended_is_recorded_with_the_signal(tmp_path: Path, name: str, kind: FailureKind) -> None:
    folder = program_folder(tmp_path, f"kill -{name} $$; sleep 600")
    assert run_agent(folder) == 1
    (failure,) = folder.read_rank_failures(1)
    assert failure.kind is kind
    assert f"SIG{name}" in failure.reason


def test_a_command_that_does_not_exist_is_a_wrong_environment(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, ["no-such-program-of-mine"])
    assert run_agent(folder) == 1
    (failure,) = folder.read_rank_failures(1)
    assert failure.kind is FailureKind.WRONG_ENVIRONMENT


def test_status_4_of_all_ranks_is_a_pause(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "exit 4", resources=TWO)
    assert run_agent(folder) == 4
    assert kinds_of(folder) == ["started", "paused"]
    assert folder.read_rank_failures(1) == []


def test_the_file_paused_is_a_pause_with_its_step(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, """echo '{"step": 12}' | tee attempts/1.paused; exit 0""")
    assert run_agent(folder) == 4
    paused = events_of(folder)[-1]
    assert isinstance(paused, Paused)
    assert (paused.step, paused.saved_step) == (12, 12)


def test_an_attempt_has_one_job_and_no_later_attempt(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "echo ran >> count")
    assert folder.claim(1, "another job") == "another job"
    assert run_agent(folder) == 3
    assert folder.claim(3, "a later job") == "a later job"
    assert run_agent(folder, 2) == 3
    assert not (folder.path / "count").exists()
    assert run_agent(folder, None) == 0
    assert folder.latest_attempt() == 4


def test_a_spec_of_another_kind_is_refused(tmp_path: Path) -> None:
    folder = RunFolder.of(tmp_path, 1, "cafe")
    folder.prepare({"kind": "engine"}, 1)
    assert run_agent(folder) == 2
    assert folder.read_claim(1) is None


def test_parameters_reach_the_program_as_words_files_and_variables(tmp_path: Path) -> None:
    parameters = {"lr": 1e-05, "name": "it's $HOME", "net": {"depth": 3}, "flags": [True, None]}
    line = "echo {lr} {name} {net.depth} > words; echo $P_LR $P_NET > variables; cp {parameters_yaml} copy"
    folder = program_folder(tmp_path, line, parameters=parameters, parameter_prefix="P_")
    assert run_agent(folder) == 0
    assert (folder.path / "words").read_text() == "0.00001 it's $HOME 3\n"
    assert (folder.path / "variables").read_text() == '0.00001 {"depth": 3}\n'
    assert json.loads((folder.path / "parameters.json").read_text()) == parameters
    assert yaml.safe_load((folder.path / "copy").read_text()) == parameters


def test_a_command_may_name_the_python_of_the_agent(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "{job_python} -c 'import sys; print(sys.prefix)' > seen")
    assert run_agent(folder) == 0
    assert (folder.path / "seen").read_text().strip() == sys.prefix


def test_the_agent_needs_no_package_and_hides_the_name_of_its_job_from_the_ranks(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "env > seen")
    assert run_agent(folder, environment={"BIGBATCH_JOB": "bigbatch-cafe-1", "PYTHONHOME": ""}) == 0
    seen = (folder.path / "seen").read_text().splitlines()
    assert not [line for line in seen if line.startswith("BIGBATCH_JOB=")]
    assert f"BIGBATCH_RUN_FOLDER={os.path.realpath(folder.path)}" in seen
