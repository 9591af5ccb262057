"""The spec of a run of the training engine."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from contract.engine_text import describe_engine
from contract.reuse.engine_code import engine_code
from contract.spec.artifacts.inputs import Inputs, check_inputs
from contract.spec.artifacts.outputs import Outputs, check_outputs
from contract.spec.artifacts.retention import AllOutputs, OutputRetention
from contract.spec.artifacts.reuse import check_reuse, obstacle_of_engine
from contract.spec.base_run import BaseRun
from contract.spec.batch_schedule import BatchSchedule, ScheduledBatch
from contract.spec.batch_size import BatchStage, check_normalized_batch
from contract.spec.checkpoint import Checkpoint, InitialWeights
from contract.spec.checks.batches import check_batches
from contract.spec.checks.easgd import check_averaging, check_easgd, check_sgd
from contract.spec.checks.extension import check_extension
from contract.spec.checks.imported import check_augmentation, check_imports, check_loss
from contract.spec.checks.initial_weights import check_initial_weights
from contract.spec.checks.kfac import check_preconditioner
from contract.spec.checks.loader_cpus import warn_of_few_cpus
from contract.spec.checks.lr_schedule import check_lr_schedule
from contract.spec.checks.memory import ReplicaMemory, check_memory, replica_of
from contract.spec.checks.model import check_model, check_volumes
from contract.spec.checks.new_run import check_new_run
from contract.spec.checks.tensor import check_tensor
from contract.spec.checks.world_size import check_data_groups, check_world_size
from contract.spec.choices.augmentations import Augmentation
from contract.spec.choices.collectives import Collective, Native
from contract.spec.choices.data import Data, Digits
from contract.spec.choices.imported import Imported
from contract.spec.choices.losses import CrossEntropy, Loss
from contract.spec.choices.metrics import Metrics
from contract.spec.choices.models import ConvNet, Model
from contract.spec.choices.optimizers import Optimizer
from contract.spec.choices.preconditioners import Preconditioner
from contract.spec.choices.rules import Rule, Sync
from contract.spec.choices.schedules import ImportedSchedule, Schedule
from contract.spec.choices.tensor import Tensor
from contract.spec.normalization import BatchNorm
from contract.spec.numbers import MAX_STAGES, Count, Fraction, Positive
from contract.spec.resources import Local, Resources, Slurm, check_resources
from contract.spec.retry import RetryPolicy, check_growth
from contract.validation import ValidationIssue, validation_error

Precision = Literal["float32", "bfloat16", "float16"]
Device = Literal["gpu", "cpu"]


class RunSpec(BaseRun):
    """A complete run of the training engine. Every run that an experiment accepts can be carried out."""

    kind: Literal["engine"] = "engine"
    """Kind of the run: this project's training engine. `program` stands for the user's own program."""
    model: Model = ConvNet()
    """The net."""
    data: Data = Digits()
    """The data set."""
    optimizer: Optimizer
    """The optimizer."""
    preconditioner: Preconditioner | None = Field(default=None, examples=[{"kind": "kfac", "damping": 0.003}])
    """What changes the gradients between the backward pass and the optimizer; null: nothing."""
    schedule: Schedule
    """The learning-rate schedule."""
    loss: Loss = CrossEntropy()
    """The training loss."""
    augmentation: Augmentation | None = Field(default=None, examples=[{"kind": "none"}])
    """Random changes of training images; null: `crop_mirror` for image folders, `none` for all other data."""
    metrics: Metrics = Field(
        default={}, examples=[{"top5": {"kind": "import", "function": "my_metrics:top", "options": {"k": 5}}}]
    )
    """The user's own metrics of each evaluation: for the name of each series the function."""
    clip_norm: Positive | None = Field(default=None, examples=[1.0])
    """Largest norm of the averaged gradient; null: no limit."""
    ema_decay: Annotated[float, Field(gt=0, lt=1)] | None = Field(default=None, examples=[0.999])
    """Decay of the exponential moving average of the weights that is evaluated; null: the weights are evaluated."""
    batch: Count = Field(examples=[256])
    """Samples per step, over all ranks."""
    batch_stages: Annotated[list[BatchStage], Field(max_length=MAX_STAGES)] = []
    """Batch-size control: other batches from later epochs on."""
    micro_batch: Count | None = Field(default=None, examples=[32])
    """Most samples per pass of a rank; null: the rank's whole share."""
    epochs: Count = Field(examples=[25])
    """Number of passes over the training data."""
    channels_last: bool = False
    """Whether images and the weights of convolutions have the channels innermost in memory: faster 16-bit convolutions
    on GPUs."""
    precision: Precision = "float32"
    """Number format of forward and backward passes; weights, norms and updates are always float32."""
    tf32: bool = False
    """Whether float32 convolutions and matrix products on GPUs are computed in TF32: 10 bits of mantissa, faster from
    Ampere on."""
    cudnn_benchmark: bool = False
    """Whether cuDNN measures its convolution algorithms for every new shape and takes the fastest: repeats of a run may
    differ in the last bits."""
    compile: bool = False
    """Whether torch.compile compiles the net; the first step of each shape takes longer."""
    device: Device | None = Field(default=None, examples=["cpu"])
    """Device of every rank, `gpu` or `cpu`; null: a GPU if `resources` requests GPUs or every rank of a node sees one.
    A rank without its requested GPU refuses to train."""
    batch_norm: BatchNorm = BatchNorm()
    """Batch normalization; a net without batch normalization ignores it."""
    label_smoothing: Fraction = 0.0
    """The fraction of a label that is distributed over all classes."""
    rule: Rule = Sync()
    """The update rule, by which replicas are synchronized."""
    collective: Collective = Native()
    """The collective that sums gradients over the ranks."""
    tensor: Tensor | None = Field(default=None, examples=[{"kind": "three_d", "q": 2}])
    """Tensor parallelism: how the ranks of one replica share its matrices; null: every rank has the whole net."""
    resources: Resources = Local()
    """The cluster, and the nodes, cpus and devices of each job."""
    compare_replicas: bool = True
    """Whether the ranks compare their weights, buffers and optimizer states before the first step, at times, before
    each checkpoint and at the end, and floating-point targets of their data; false: for processors of different types,
    which may round differently."""
    checkpoint: Checkpoint = Checkpoint()
    """When to save."""
    initial_weights: InitialWeights | None = None
    """Weights of another run to start from; null: random weights, by `seed`."""
    evaluate_only: bool = False
    """Whether to evaluate the initial weights once, and take no step."""
    retries: RetryPolicy = RetryPolicy()
    """How often a run is retried after each exit cause."""
    system_metrics_s: Annotated[float, Field(ge=0, le=3600)] = 15.0
    """Seconds between two measurements of each node's processors, memory, disks, network and GPUs; 0: none."""
    inputs: Inputs = Field(default={}, examples=[{"data": "/data/imagenet/manifest.json"}])
    """Files and folders whose contents count when the service compares this run with finished ones, by name."""
    outputs: Outputs = Field(default={}, examples=[{"curves": "curves.json"}])
    """Files and folders that the run writes into its folder, by name: hashed at its end, and listed as artifacts."""
    keep: OutputRetention = AllOutputs()
    """How long the outputs remain."""
    reuse: bool = False
    """Whether the run takes the result of a finished run with an equal spec, equal code and equal inputs, if there is
    one, in place of being carried out."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Seed of the weights, of the order of samples and of random parts of the net."""

    @property
    def batch_schedule(self) -> BatchSchedule:
        """The epoch and the global batch of every step."""
        stages = (
            ScheduledBatch(0, self.batch),
            *(ScheduledBatch(stage.epoch, stage.batch) for stage in self.batch_stages),
        )
        return BatchSchedule(self.data.train_samples, self.epochs, stages)

    @property
    def peak_rate(self) -> float | None:
        """The highest learning rate over the run, with scaling; None if the schedule is the user's own."""
        if isinstance(self.schedule, ImportedSchedule):
            return None
        return self.schedule.peak(max(stage.batch for stage in self.batch_schedule.stages))

    @property
    def batch_per_rank(self) -> int:
        """A rank's share of the smallest batch."""
        return min(stage.batch for stage in self.batch_schedule.stages) // self.replicas

    @property
    def replicas(self) -> int:
        """The number of replicas of the net, each with its own samples: of ranks, without tensor parallelism."""
        return self.resources.world // (self.tensor.size if self.tensor else 1)

    @property
    def steps(self) -> int:
        """The number of steps."""
        return 0 if self.evaluate_only else self.batch_schedule.steps

    @property
    def survives_workers(self) -> bool:
        """Whether the run goes on when a rank other than rank 0 is lost."""
        return self.rule.survives_workers

    @property
    def replica(self) -> ReplicaMemory | None:
        """The memory of each replica at the largest batch; None if a part is the user's own, of unknown size, or if
        ranks share replicas."""
        return replica_of(self)

    def explain_single_sample(self, batch: int) -> str | None:
        """Return why a batch normalization of a step of `batch` may have a single sample; None if it has more."""
        group, most = self.batch_norm.group, self.micro_batch
        return check_normalized_batch(batch, world=self.replicas, group=group, micro_batch=most)

    @property
    def imports(self) -> dict[str, Imported]:
        """The user's own parts, by their paths."""
        parts = {
            "model": self.model,
            "data": self.data,
            "optimizer": self.optimizer,
            "schedule": self.schedule,
            "loss": self.loss,
            "augmentation": self.augmentation,
            **{f"metrics.{name}": metric for name, metric in self.metrics.items()},
        }
        return {path: part for path, part in parts.items() if isinstance(part, Imported)}

    @property
    def computing_code(self) -> str:
        """The hash of the engine's code."""
        return engine_code()

    @property
    def names_own_metrics(self) -> bool:
        """Whether the user's program names all metrics: the engine does."""
        return False

    @property
    def needs_tools(self) -> bool:
        """Whether the agent carries the run out: its own ranks do."""
        return False

    @property
    def weights_source(self) -> InitialWeights | None:
        """The run whose weights this one starts from; None: it starts from random weights."""
        return self.initial_weights

    @property
    def total_epochs(self) -> int:
        """The number of passes over the training data."""
        return self.epochs

    @property
    def reuse_obstacle(self) -> str | None:
        """Why another run with an equal spec may compute something else; None if it computes the same."""
        return obstacle_of_engine(self.imports, getattr(self.data, "path", None), self.inputs)

    def describe_work(self) -> str:
        """Return the steps, and each choice that decides who computes what, or with which images."""
        return describe_engine(self)

    def new_run_issues(self) -> Iterator[ValidationIssue]:
        """Yield an issue for each choice that would have no effect or would end the run with an error."""
        yield from check_new_run(self)

    def input_warning(self) -> ValidationIssue | None:
        """Return that a rank on a GPU has too few cpus to decode its images; None if it has enough."""
        return warn_of_few_cpus(self)

    def extension_issues(self, epochs: int) -> Iterator[ValidationIssue]:
        """Yield an issue for each reason why the run, when it is done, cannot go on to `epochs` epochs."""
        yield from check_extension(self, epochs)

    def new_data_fields(self) -> dict[str, Any] | None:
        """Return the fields with which the run goes on with other data than its checkpoints had; None: as they are."""
        if self.checkpoint.accept_new_data:
            return None
        return {"checkpoint": {**self.checkpoint.model_dump(mode="json"), "accept_new_data": True}}

    @model_validator(mode="after")
    def _check_whole_run(self) -> Self:
        if issues := list(self._issues()):
            raise validation_error(issues)
        return self

    def _issues(self) -> Iterator[ValidationIssue]:
        world, replicas = self.resources.world, self.replicas
        yield from check_tensor(self)
        if not replicas:  # fewer ranks than a replica has
            return
        yield from check_batches(self)
        yield from self._resource_issues()
        yield from check_imports(self.imports)
        yield from check_model(self.model, self.data)
        yield from check_volumes(self.data, channels_last=self.channels_last)
        yield from check_loss(self.loss, self.data, self.model, label_smoothing=self.label_smoothing)
        yield from check_augmentation(self.augmentation, self.data)
        if issue := check_data_groups(self.data, self.rule, world):
            yield issue
        if issue := check_world_size(self.collective, replicas):
            yield ValidationIssue(path=f"collective.{issue.path}", message=issue.message)
        if not isinstance(self.schedule, ImportedSchedule):
            for issue in check_lr_schedule(self.schedule, self.batch_schedule):
                yield ValidationIssue(path=f"schedule.{issue.path}", message=issue.message)
        if self.steps >= 2**31:
            message = f"{self.epochs} epochs are {self.steps:,} steps, more than 2^31 - 1"
            yield ValidationIssue(path="epochs", message=message)
        yield from check_initial_weights(self)
        yield from check_easgd(self.rule, self.optimizer, rate=self.peak_rate, world=world)
        yield from check_averaging(self.rule, clips=self.clip_norm is not None, averages=self.ema_decay is not None)
        yield from check_sgd(self.optimizer, self.rule)
        yield from check_inputs(self.inputs)
        yield from check_outputs(self.outputs)
        yield from check_reuse(wanted=self.reuse, obstacle=self.reuse_obstacle)
        kfac, steps = self.preconditioner, self.batch_schedule.steps
        yield from check_preconditioner(kfac, self.rule, compiles=self.compile, steps=steps)

    def _resource_issues(self) -> Iterator[ValidationIssue]:
        need = self.resources
        yield from check_growth(self.retries, need)
        issues = list(check_resources(need))
        if isinstance(need, Slurm) and need.many_core and self.replica:
            issues += filter(None, [check_memory(need.many_core, self.replica)])
        for issue in issues:
            yield ValidationIssue(path=f"resources.{issue.path}", message=issue.message)
