"""The lab derives its configuration from its layout and reports why it cannot run on a machine."""

from pathlib import Path

import pytest

from lab import layout as layouts
from lab import network
from lab.__main__ import main
from lab.errors import LabError
from lab.layout import Layout
from lab.requirements import PACKAGES, find_other_slurm, missing, missing_packages
from lab.services import cgroups, config_files
from lab.state_folder import StateFolder, selected_folder

pytestmark = pytest.mark.ring("quick")

FOLDER = StateFolder(Path("/somewhere/lab"))


def slurm_conf(layout: Layout) -> list[str]:
    return config_files.slurm_conf(layout, FOLDER, "head").splitlines()


def starting(lines: list[str], word: str) -> list[str]:
    return [line for line in lines if line.startswith(word)]


def test_six_hosts_have_their_cpus_gpus_and_features() -> None:
    nodes = starting(slurm_conf(Layout()), "NodeName=")
    names = ["gpu1", "gpu2", "gpu3", "gpu4", "knl1", "knl2"]
    assert [node.split()[0] for node in nodes] == [f"NodeName={name}" for name in names]
    assert "CPUs=4 RealMemory=4000 Gres=gpu:4 Feature=gpu State" in nodes[0]
    assert "CPUs=8 RealMemory=4000 Feature=knl,quad,cache State" in nodes[4]
    assert "Feature=knl,quad,flat State" in nodes[5]


def test_six_hosts_have_five_partitions_and_urgent_has_the_highest_priority() -> None:
    gpu, grace, cancel, urgent, knl = starting(slurm_conf(Layout()), "PartitionName=")
    assert "Default=YES PreemptMode=requeue Nodes=gpu1,gpu2,gpu3,gpu4 PriorityTier=1" in gpu
    assert "PreemptMode=requeue GraceTime=30 Nodes=gpu1,gpu2,gpu3,gpu4 PriorityTier=1" in grace
    assert "PreemptMode=cancel GraceTime=30 Nodes=gpu1,gpu2,gpu3,gpu4 PriorityTier=1" in cancel
    assert "Nodes=gpu1,gpu2,gpu3,gpu4 PriorityTier=10 PreemptMode=off" in urgent
    assert "Nodes=knl1,knl2 " in knl
    assert "Default" not in knl.replace("DefaultTime", "")


def test_a_lab_without_knl_hosts_has_no_knl_partition() -> None:
    lines = slurm_conf(Layout(gpu_hosts=1, knl_hosts=0))
    assert len(starting(lines, "NodeName=")) == 1
    assert [line.split()[0] for line in starting(lines, "PartitionName=")] == [
        "PartitionName=gpu",
        "PartitionName=grace",
        "PartitionName=cancel",
        "PartitionName=urgent",
    ]


def test_a_lab_without_accounting_has_no_limits_and_no_database() -> None:
    (kind,) = starting(slurm_conf(Layout(has_accounting=False)), "AccountingStorage")
    assert kind == "AccountingStorageType=accounting_storage/none"
    with pytest.raises(ValueError, match="only with accounting"):
        Layout(has_accounting=False, max_submit_jobs=5)


def test_a_lab_with_one_knl_host_has_a_default_partition_and_no_gpus() -> None:
    layout = Layout(gpu_hosts=0, knl_hosts=1)
    (knl,) = starting(slurm_conf(layout), "PartitionName=")
    assert "Default=YES" in knl
    assert config_files.gres_conf(layout, FOLDER) == ""


def test_only_a_lab_with_a_submit_limit_enforces_limits() -> None:
    assert starting(slurm_conf(Layout()), "AccountingStorageEnforce") == []
    assert starting(slurm_conf(Layout(max_submit_jobs=5)), "AccountingStorageEnforce") == [
        "AccountingStorageEnforce=limits"
    ]
    with pytest.raises(ValueError, match="at least 1, not 0"):
        Layout(max_submit_jobs=0)


def test_only_a_lab_with_a_memory_limit_counts_and_limits_memory() -> None:
    limited, layout = slurm_conf(Layout(limits_memory=True)), Layout()
    assert {"SelectTypeParameters=CR_Core_Memory", "TaskPlugin=task/cgroup", "DefMemPerCPU=500"} <= set(limited)
    assert {"SelectTypeParameters=CR_Core", "TaskPlugin=task/none"} <= set(slurm_conf(layout))
    assert starting(slurm_conf(layout), "DefMem") == []
    for unified in (True, False):
        assert "ConstrainRAMSpace" not in config_files.cgroup_conf(layout, unified=unified)
        assert "ConstrainRAMSpace=yes\n" in config_files.cgroup_conf(Layout(limits_memory=True), unified=unified)


def test_a_machine_without_a_memory_limit_says_why(tmp_path: Path) -> None:
    assert "no cgroup hierarchy for memory" in cgroups.missing(tmp_path)[0]
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.oom_control").touch()
    assert cgroups.missing(tmp_path) == []
    (tmp_path / "cgroup.controllers").write_text("cpu pids\n")
    assert "no memory limit" in cgroups.missing(tmp_path)[0]
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    assert cgroups.missing(tmp_path) == []


def test_the_cgroups_of_the_hosts_are_removed_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "memory" / "slurm_gpu1" / "uid_0" / "job_1").mkdir(parents=True)
    (tmp_path / "memory" / "slurm_other").mkdir()
    cgroups.remove(Layout(gpu_hosts=1, knl_hosts=0), tmp_path)
    assert [path.name for path in (tmp_path / "memory").iterdir()] == ["slurm_other"]


def test_all_paths_in_slurm_conf_are_in_the_state_folder() -> None:
    lines = slurm_conf(Layout(min_job_age_s=7, max_array_size=5))
    paths = [value for line in lines for value in line.split("=") if value.startswith("/")]
    assert len(paths) >= 7
    assert all(path.startswith("/somewhere/lab/") for path in paths)
    assert "AuthInfo=socket=/somewhere/lab/munge/socket,cred_expire=20" in lines
    assert {"MinJobAge=7", "MaxArraySize=5", "MpiDefault=none", "SlurmctldHost=head(10.177.0.1)"} <= set(lines)


def test_ports_differ_from_the_defaults_of_slurm_and_mariadb() -> None:
    texts = "\n".join([*slurm_conf(Layout()), config_files.mariadb_conf(FOLDER)])
    assert not any(port in texts for port in ("=6817", "=6818", "=6819", "=3306\n"))


def test_the_database_password_is_in_the_two_private_files_only() -> None:
    assert "StoragePass=secret" in config_files.slurmdbd_conf(FOLDER, "secret")
    assert "'secret'" in config_files.accounts_sql("secret")
    assert all(statement.endswith(";") for statement in config_files.accounts_sql("secret").splitlines())


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"gpu_hosts": 0, "knl_hosts": 0}, "1 to 64 hosts, not 0 gpu"),
        ({"gpu_hosts": -1, "knl_hosts": 2}, "1 to 64 hosts, not -1 gpu"),
        ({"rate": "fast"}, "such as 200mbit, not 'fast'"),
        ({"rate": "0mbit"}, "such as 200mbit"),
        ({"min_job_age_s": 1}, "at least 2 s, not 1"),
        ({"max_array_size": 0}, "arrays of 1 to 4,000,001 tasks, not 0"),
    ],
)
def test_an_impossible_layout_is_refused_with_the_reason(asked: dict[str, int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Layout(**asked)  # type: ignore[arg-type]


def test_a_layout_is_read_back_and_a_partial_file_is_none(tmp_path: Path) -> None:
    path = tmp_path / "layout.json"
    assert layouts.load(path) is None
    Layout(2, 1, "5mbit", 30).save(path)
    assert layouts.load(path) == Layout(2, 1, "5mbit", 30)
    path.write_text(path.read_text()[:9])
    assert layouts.load(path) is None


def test_host_names_are_added_once_and_removed_completely(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    before = "127.0.0.1 localhost\n10.1.1.1 gpu9 # not ours\n"
    hosts.write_text(before)
    network.add_host_names(Layout(), hosts)
    network.add_host_names(Layout(1, 0), hosts)
    assert hosts.read_text() == before + "10.177.0.11 gpu1 # bigbatch-lab\n"
    network.remove_host_names(hosts)
    assert hosts.read_text() == before


def test_missing_packages_are_named_with_the_command_that_installs_them(tmp_path: Path) -> None:
    *sentences, install = missing_packages(str(tmp_path))
    assert sentences == [f"The Debian package {package} is not installed." for package in PACKAGES]
    assert install.endswith("apt-get install -y --no-install-recommends " + " ".join(PACKAGES))


def test_no_package_is_missing_if_every_program_exists(tmp_path: Path) -> None:
    for program in PACKAGES.values():
        (tmp_path / program).touch(mode=0o755)
    assert missing_packages(str(tmp_path)) == []


def test_another_slurm_in_the_same_network_is_reported_but_not_the_labs_or_a_containers(tmp_path: Path) -> None:
    process(tmp_path, "self", "pytest", "here")
    process(tmp_path, "11", "/usr/sbin/slurmctld\0-D", "here")
    process(tmp_path, "12", "/somewhere/lab/sbin/slurmctld\0-D", "here")
    process(tmp_path, "13", "slurmctld: slurmscriptd", "here", name="slurmscriptd")
    process(tmp_path, "14", "/usr/sbin/slurmd\0-D", "in a container")
    (sentence,) = find_other_slurm(FOLDER, tmp_path)
    assert "slurmctld, process 11" in sentence


def process(proc: Path, pid: str, line: str, network_name: str, *, name: str = "") -> None:
    """Write the files of a process in a fake /proc."""
    program = name or line.split("\0")[0].rpartition("/")[2]
    (proc / network_name).touch()
    (proc / pid / "ns").mkdir(parents=True)
    (proc / pid / "ns" / "net").hardlink_to(proc / network_name)
    (proc / pid / "cmdline").write_bytes(line.encode() + b"\0")
    (proc / pid / "stat").write_text(f"{pid} ({program}) S 1 1 1")


def test_a_user_other_than_root_gets_the_reason_and_status_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "only root may" in missing()[0]
    assert main(["up"]) == 2
    assert main(["down"]) == 2
    assert "only root may" in capsys.readouterr().err


def test_on_a_system_other_than_linux_there_is_one_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert missing() == ["The lab needs Linux network namespaces; this system is darwin."]


def test_a_usage_error_is_a_failure_and_not_a_reason_to_skip(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["up", "--gpu-host", "many"])
    assert exit_.value.code == 1
    assert main(["up", "--rate", "fast"]) == 1
    assert "200mbit" in capsys.readouterr().err


def test_without_a_lab_env_and_status_fail_with_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BIGBATCH_LAB", str(tmp_path))
    assert selected_folder() == StateFolder(tmp_path)
    assert main(["env"]) == 1
    assert main(["status"]) == 1
    printed = capsys.readouterr()
    assert "python -m lab up" in printed.err
    assert f"no lab in {tmp_path}" in printed.out


def test_a_folder_with_other_files_is_neither_used_nor_deleted(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(LabError, match="not the lab's"):
        StateFolder(tmp_path).create()
    StateFolder(tmp_path).remove()
    assert (tmp_path / "thesis.tex").exists()


def test_a_state_folder_can_be_created_twice_and_removed(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "deep" / "lab")
    folder.create()
    folder.create()
    folder.remove()
    assert not folder.root.exists()


def test_a_started_lab_prints_the_commands_that_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BIGBATCH_LAB", str(tmp_path))
    monkeypatch.setattr("lab.requirements.missing", lambda _: [])
    monkeypatch.setattr("lab.cluster.up", lambda *_: None)
    for is_healthy in (True, False):
        monkeypatch.setattr("lab.report.describe", lambda _, is_healthy=is_healthy: ("the daemons", is_healthy))
        assert main(["up"]) == int(not is_healthy)
    printed = capsys.readouterr().out
    assert printed.count(f"    export SLURM_CONF={selected_folder().slurm_conf} ") == 1
    assert printed.index("bigbatch up") < printed.index("make lab-down")
