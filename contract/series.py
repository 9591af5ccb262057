"""The names of what a run measures; trainer, store and dashboard spell them alike."""

LOSS = "loss"  # training loss of the step, mean over the global batch
RATE = "learning_rate"
SAMPLES_PER_S = "samples_per_s"  # of the whole world
COMPUTE_S = "compute_s"  # forward, backward and update of one step on rank 0
COMMUNICATION_S = "communication_s"  # rank 0 in collectives, waiting for slower ranks included
INPUT_S = "input_s"  # rank 0 waiting for its next batch

EPOCH = "epoch"  # epochs completed, at the step that ended one
HELDOUT_LOSS = "heldout_loss"
HELDOUT_ACCURACY = "heldout_accuracy"  # fraction of held-out samples, 0 to 1

EVERY_STEP = (LOSS, RATE, SAMPLES_PER_S, COMPUTE_S, COMMUNICATION_S, INPUT_S)
EVERY_EPOCH = (EPOCH, HELDOUT_LOSS, HELDOUT_ACCURACY)
