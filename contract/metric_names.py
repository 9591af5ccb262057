"""The names of what a run measures; trainer, store and dashboard spell them alike."""

LOSS = "loss"  # training loss of the step, mean over the global batch
RATE = "learning_rate"
SAMPLES_PER_S = "samples_per_s"  # of the whole world

# Where the time of a step goes, each a mean over the ranks; together they are the step's wall time.
COMPUTE_S = "compute_s"  # forward and backward
UPDATE_S = "update_s"  # of the weights, and of a center
COMMUNICATION_S = "communication_s"  # in collectives, once every rank was there; or at a center that rank 0 serves
INPUT_S = "input_s"  # waiting for the next batch
IDLE_S = "idle_s"  # in collectives, waiting for slower ranks
SLOWEST_RANK = "slowest_rank"  # whom the others waited for

EPOCH = "epoch"  # epochs completed, at the step that ended one
HELDOUT_LOSS = "heldout_loss"
HELDOUT_ACCURACY = "heldout_accuracy"  # fraction of held-out samples, 0 to 1; of a translation's tokens
BATCH = "batch"  # samples per step of that epoch, over all ranks
TRAINED_S = "trained_s"  # since the run began, without the time between attempts: what time to accuracy counts
PEAK_MEMORY_BYTES = "peak_memory_bytes"  # of the rank that needed most: on its GPU, else of its process

# Of each checkpoint that became whole, at its step.
CHECKPOINT_STALL_S = "checkpoint_stall_s"  # for which training waited
CHECKPOINT_WRITE_S = "checkpoint_write_s"  # until it was whole, most of it beside training
CHECKPOINT_BYTES = "checkpoint_bytes"

PARTS = (COMPUTE_S, UPDATE_S, COMMUNICATION_S, INPUT_S, IDLE_S)
EVERY_STEP = (LOSS, RATE, SAMPLES_PER_S, *PARTS, SLOWEST_RANK)
EVERY_EPOCH = (EPOCH, HELDOUT_LOSS, HELDOUT_ACCURACY, BATCH, TRAINED_S, PEAK_MEMORY_BYTES)
