"""What would be submitted: scripts, arrays, jobs that runs share, and whether sharing pays on this cluster's nodes."""

from pathlib import Path

import pytest

from contract.api.cluster_report import ClusterReport, Node, Partition, SubmitLimits
from contract.settings import Settings
from contract.spec.expanded import Expanded, read_experiment
from scheduler.clusters.rate_limit import UnlimitedRate
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.submit.dry_run import describe_submissions
from tests.testing.clusters import Play
from tests.testing.specs import Experiment, changed

GPT: dict[str, object] = {
    "data": {"kind": "text", "context": 16},
    "model": {"kind": "gpt", "width": 16},
    "optimizer": {"kind": "adamw"},
}
FOLDER = {"kind": "folder", "path": "/data", "classes": 2, "train_samples": 640, "heldout_samples": 64}
FOLDER |= {"image_list": "/data/kept.txt"}


def reported(
    admits: SubmitLimits | None = None, nodes: list[Node] | None = None, *, whole_nodes: bool = True
) -> ClusterReport:
    """A cluster with one partition, called gpu."""
    gpu = Partition(
        name="gpu",
        is_default=True,
        state="up",
        nodes=2,
        idle_nodes=2,
        cpus=64,
        time_limit="1:00:00",
        gres="",
        whole_nodes=whole_nodes,
    )
    return ClusterReport(partitions=[gpu], nodes=nodes or [], queue=[], admits=admits)


def node(cpus: int, *, memory_mb: int = 64_000, gres: str = "") -> Node:
    return Node(
        name=f"n{cpus}",
        state="idle",
        partitions=["gpu"],
        cpus=cpus,
        busy_cpus=0,
        memory_mb=memory_mb,
        gres=gres,
        features=[],
    )


def test_the_preview_shows_every_point_and_each_script_once(experiment: Experiment) -> None:
    lines = list(describe_submissions(experiment({"seed": [0, 1], "batch": [64, 128]}), Settings(home=Path("/h"))))
    assert lines[0] == "test: 4 runs"
    assert lines[2] == "  [1] seed=0 batch=128 - local, 1 x 2 ranks, 22 steps of 128"
    assert len([line for line in lines if "trainers" in line]) == 1


@pytest.mark.parametrize(
    ("choices", "wanted"),
    [
        (
            {"preconditioner": {"kind": "kfac", "factor_every": 1, "inverse_every": 4}},
            "K-FAC comm_opt by eigen: factors every step, inverses every 4 steps",
        ),
        (
            {
                "preconditioner": {
                    "kind": "kfac",
                    "variant": "hybrid",
                    "fraction": 0.5,
                    "stages": [{"step": 5, "damping": 1}],
                }
            },
            "K-FAC hybrid with a fraction of 0.5 by eigen: factors every 10 steps, inverses every 100 steps, "
            "1 later stage",
        ),
        ({"tensor": {"kind": "one_d", "ranks": 4}} | GPT, "2 replicas of 4 ranks"),
        ({"tensor": {"kind": "two_d", "q": 2}} | GPT, "2 replicas of 2 x 2 = 4 ranks"),
        ({"tensor": {"kind": "three_d", "q": 2}} | GPT, "1 replica of 2 x 2 x 2 = 8 ranks"),
        ({"data": FOLDER, "model": {"kind": "lenet"}}, "images of the list /data/kept.txt"),
    ],
)
def test_the_preview_shows_mesh_and_replicas_and_kfac_and_the_list_of_images(
    experiment: Experiment, choices: dict[str, object], wanted: str
) -> None:
    eight = {"kind": "local", "ranks_per_node": 8}
    line = list(describe_submissions(experiment({}, resources=eight, **choices), Settings(home=Path("/h"))))[1]
    steps, _, rest = line.partition(" steps of ")
    assert steps.startswith("  [0] as in base - local, 1 x 8 ranks, ")
    assert rest.partition(", ")[2] == wanted


def test_the_preview_of_a_volume_shows_its_operators_and_chunks() -> None:
    operators = [
        {"kind": "read", "path": "em"},
        {"kind": "infer", "patch": [8, 9, 8], "overlap": [2, 2, 2]},
        {"kind": "threshold", "at": 0.25},
        {"kind": "components"},
        {"kind": "write", "path": "out"},
    ]
    volume = {"chunk": [16, 8, 8], "block": [8, 8, 8], "operators": operators}
    base = {"kind": "program", "command": "python -m trainers.volume", "volume": volume}
    asked = read_experiment({"name": "volume", "base": base})
    line = next(line for line in describe_submissions(asked, Settings(home=Path("/h"))) if "program" in line)
    wanted = (
        "read em > infer the identity on patches of 8 x 9 x 8 that overlap by 2 x 2 x 2 > threshold 0.25 > components"
    )
    assert line.endswith(f"{wanted} > write out, in chunks of 16 x 8 x 8 and blocks of 8 x 8 x 8 voxels")


def test_the_preview_of_a_search_for_duplicates_shows_images_and_options() -> None:
    base = {"kind": "program", "dedup": {"images": "/data/images", "threshold": 60, "exact": True}}
    asked = read_experiment({"name": "dedup", "base": base})
    line = next(line for line in describe_submissions(asked, Settings(home=Path("/h"))) if "program" in line)
    wanted = "near-duplicates in /data/images by the perceptual hash of 256 bits, similar up to 60 bits, exactly"
    assert line.endswith(f"a program by plain: {wanted}; of each group the first stays")


@pytest.mark.ring("all")
def test_the_preview_shows_which_runs_share_an_array_and_its_cap(experiment: Experiment) -> None:
    sweep = experiment({"seed": [0, 1, 2], "resources.nodes": [1, 2]}, resources={"kind": "slurm", "ranks_per_node": 2})
    lines = "\n".join(describe_submissions(changed(sweep, max_parallel=2), Settings(home=Path("/h")))).splitlines()
    assert "#SBATCH --array=0-2%2" in lines
    heads = [line for line in lines if line.startswith("# ---")]
    assert heads == [
        f"# --- batch script of runs {runs}: 1 job array, one sbatch each, of up to 1001 tasks "
        "(Slurm's default, because no service reports this Slurm's limits)"
        for runs in ("0,2,4", "1,3,5")
    ]


@pytest.mark.parametrize(("jobs", "most"), [(None, ""), (100, "; at most 100 jobs at a time")])
def test_the_preview_goes_by_what_a_cluster_is_known_to_admit(
    experiment: Experiment, jobs: int | None, most: str
) -> None:
    sweep = experiment({"seed": list(range(12))}, resources={"kind": "slurm"})
    lines = "\n".join(
        describe_submissions(sweep, Settings(home=Path("/h")), reported(SubmitLimits(tasks=5, jobs=jobs)))
    ).splitlines()
    assert "#SBATCH --array=0-4" in lines
    answer = f"3 job arrays, one sbatch each, of up to 5 tasks (MaxArraySize of this Slurm{most})"
    assert f"# --- batch script of runs 0-11: {answer}" in lines


def test_the_preview_of_a_slurm_without_arrays_is_a_script_for_each_run(experiment: Experiment) -> None:
    sweep = experiment({"seed": [0, 1, 2]}, resources={"kind": "slurm"})
    lines = "\n".join(
        describe_submissions(sweep, Settings(home=Path("/h")), reported(SubmitLimits(tasks=1, jobs=None)))
    ).splitlines()
    answer = "3 jobs without an array, one sbatch each (MaxArraySize of this Slurm)"
    assert f"# --- batch script of runs 0-2: {answer}" in lines
    assert not any("--array" in line for line in lines)


def test_the_preview_shows_how_many_runs_share_a_job_and_what_that_asks_for(experiment: Experiment) -> None:
    need = {"kind": "slurm", "ranks_per_node": 2, "cpus_per_rank": 3, "memory_gb": 4, "gres": "gpu:1"}
    sweep = changed(experiment({"seed": list(range(12))}, resources=need), pack=4, max_parallel=9)
    settings = Settings(home=Path("/h"), slurm_python="/shared/python")
    lines = "\n".join(describe_submissions(sweep, settings)).splitlines()
    (head,) = [line for line in lines if line.startswith("# ---")]
    assert "of runs 0-11: 12 runs in 3 jobs of 4: 1 job array" in head
    for line in (
        "#SBATCH --array=0-2%2",
        "#SBATCH --ntasks-per-node=8",
        "#SBATCH --mem=16GB",
        "#SBATCH --gres=gpu:4",
        "#SBATCH --output=/h/runs/arrays/bigbatch-RUN-1/%a/job.log",
    ):
        assert line in lines
    (command,) = [line for line in lines if "trainers" in line]
    carrier, srun = command.split(" -- ")
    task = "/h/runs/arrays/bigbatch-RUN-1/$SLURM_ARRAY_TASK_ID"
    assert carrier == f"/shared/python -P -u -m trainers.packed_runs {task} --attempt 1"
    assert srun.endswith(" /shared/python -P -u -m trainers {} --attempt 1")
    for word in ("--exact", "--ntasks=2", "--mem=4GB", "--gres=gpu:1", "--cpus-per-task=3", "'--output={}/out.log'"):
        assert word in srun.split()


def notes(experiment: Expanded, report: ClusterReport) -> list[str]:
    lines = describe_submissions(experiment, Settings(home=Path("/h")), report)
    return [line for line in lines if line.startswith("# ") and "---" not in line and "cannot run" not in line]


@pytest.mark.parametrize(
    ("need", "there", "pack", "cpus"),
    [
        ({}, [node(16)], 16, 16),
        ({"ranks_per_node": 2, "cpus_per_rank": 3}, [node(16)], 2, 16),
        ({}, [node(16), node(4)], 4, 4),  # on whichever node it is
        ({"partition": "knl,gpu"}, [node(16), node(4)], 4, 4),
        ({"ranks_per_node": 8}, [node(16), node(4)], 2, 16),  # the smaller one takes none of them
        ({"memory_gb": 15}, [node(16)], 4, 16),
        ({"gres": "gpu:1"}, [node(16, gres="gpu:a100:4(S:0-1),shard:8")], 4, 16),
        ({"gres": "gpu:a100:2"}, [node(16, gres="gpu:a100:4,gpu:v100:4")], 2, 16),
        ({"gres": "gpu:1"}, [node(16, gres="gpu:3090:4(S:0,1)")], 4, 16),
        ({"gres": "gpu"}, [node(16, gres="gpu:(null):4(S:0)")], 4, 16),
        ({}, [node(272)], 20, 272),  # there are no more runs
    ],
)
def test_where_jobs_get_whole_nodes_it_says_how_many_runs_would_fill_one(
    experiment: Experiment, need: dict[str, object], there: list[Node], pack: int, cpus: int
) -> None:
    sweep = experiment({"seed": list(range(20))}, resources={"kind": "slurm", **need})
    (answer,) = notes(sweep, reported(nodes=there))
    jobs = -(-20 // pack)
    assert answer.startswith(
        f"# {need.get('partition', 'gpu')} allocates whole nodes of {cpus} cpus, and each of these runs needs "
    )
    assert answer.endswith(f": `pack: {pack}` reduces 20 jobs to {jobs}")
    list(describe_submissions(changed(sweep, pack=pack), Settings(home=Path("/h"))))
    read_experiment({**sweep.spec.model_dump(), "pack": pack})


@pytest.mark.parametrize(
    ("need", "report"),
    [
        ({}, reported(nodes=[node(16)], whole_nodes=False)),  # Slurm packs them itself
        ({}, reported()),
        ({"partition": "knl"}, reported(nodes=[node(16)])),
        ({"nodes": 2}, reported(nodes=[node(16)])),
        ({"ranks_per_node": 8, "cpus_per_rank": 2}, reported(nodes=[node(16)])),  # one fills it
        ({"gres": "tpu:1"}, reported(nodes=[node(16, gres="gpu:4")])),
        ({"gres": "gpu:1K"}, reported(nodes=[node(16, gres="gpu:4")])),
    ],
)
def test_where_sharing_a_job_wins_nothing_nothing_is_said(
    experiment: Experiment, need: dict[str, object], report: ClusterReport
) -> None:
    sweep = experiment({"seed": list(range(20))}, resources={"kind": "slurm", **need})
    assert notes(sweep, report) == []


def test_nothing_is_advised_that_is_refused_for_other_points(experiment: Experiment) -> None:
    sweep = experiment({"resources.nodes": [1, 2], "seed": [0, 1, 2]}, resources={"kind": "slurm"})
    assert notes(sweep, reported(nodes=[node(16)])) == []


def test_a_pack_that_no_node_has_room_for_is_told(experiment: Experiment) -> None:
    sweep = experiment({"seed": list(range(20))}, resources={"kind": "slurm", "ranks_per_node": 4})
    (answer,) = notes(changed(sweep, pack=10), reported(nodes=[node(16), node(32)], whole_nodes=False))
    assert answer == "# no node of gpu can carry out 10 of these runs side by side: at most 8"
    assert notes(changed(sweep, pack=8), reported(nodes=[node(16), node(32)])) == []


def test_a_cluster_says_which_partitions_give_whole_nodes(play: Play) -> None:
    """By the partition's OverSubscribe, and with select/linear wherever it shares none."""
    parse_rows = [f"n1|{name}|up|1:00:00|{shares}|idle|0/8/0/8|4000|(null)|a|b" for name, shares in SHARES.items()]
    play("sinfo", "\n".join(f"echo '{row}'" for row in parse_rows))
    play("squeue", "true")
    play("scontrol", "echo 'SelectType = select/linear'; echo 'MaxArraySize = 10'")
    cluster = Slurm(Path("/shared/python"), (), UnlimitedRate())
    before, after = cluster.report(), cluster.report()  # the configuration is read after the first
    assert {part.name for part in before.partitions if part.whole_nodes} == {"exclusive"}
    assert {part.name for part in after.partitions if part.whole_nodes} == {"exclusive", "plain"}
    assert (after.nodes[0].cpus, after.nodes[0].features) == (8, ["a|b"])


SHARES = {"plain*": "NO", "exclusive": "EXCLUSIVE", "forced": "FORCE:4", "shared": "YES:4"}


@pytest.mark.parametrize(
    ("resources", "data", "device", "warns"),
    [
        ({"gpus_per_rank": 1}, "folder", None, True),
        ({"gres": "gpu:4", "ranks_per_node": 4}, "shards", None, True),
        ({"options": {"tres-per-task": "gres/gpu:1"}}, "folder", "gpu", True),
        ({"gpus_per_rank": 1, "cpus_per_rank": 8}, "folder", None, False),
        ({"gpus_per_rank": 1}, "folder", "cpu", False),
        ({}, "folder", None, False),  # a net on cpus takes longer than its images
        ({"gpus_per_rank": 1}, "synthetic", None, False),  # nothing is decoded
    ],
)
def test_the_preview_warns_where_one_cpu_cannot_feed_a_gpu(
    experiment: Experiment, resources: dict[str, object], data: str, device: str | None, warns: bool
) -> None:
    images = {"path": "/data/imagenet", "classes": 10, "train_samples": 1024, "heldout_samples": 64}
    choices = {
        "data": {"kind": data, **({} if data == "synthetic" else images)},
        "model": {"kind": "resnet18"},
        "resources": {"kind": "slurm", **resources},
        "device": device,
    }
    lines = describe_submissions(experiment({}, **choices), Settings(home=Path("/h")))
    advice = [line for line in lines if line.startswith("# resources.cpus_per_rank: each rank has one cpu")]
    assert len(advice) == int(warns)
