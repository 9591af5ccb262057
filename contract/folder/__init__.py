"""The files of a run's folder, and of an array's folder.

spec.json               the run's spec; the scheduler writes the file before it submits a job
events.jsonl            the run's events; only rank 0 appends, always whole lines
points/rank-R.jsonl     in a program: points of rank R above 0; only that rank appends, always whole lines
points/system-HOST.jsonl  metrics of the node HOST (agent/system); one process of the node appends, always whole lines
times.csv               step times of every rank; only rank 0 appends, always whole lines
times/rank-R.csv        in a program: step times of rank R, which only that rank appends; rank 0 merges the tables
collective.json         the choices of `auto`, the same for every attempt; only rank 0 writes
binding.json            CPU and memory binding of each rank of the latest attempt; only rank 0 writes
chunks.json             in a program with a volume: the states of its chunks; only rank 0 writes
lost.jsonl              ranks without which the run continued; only rank 0 appends, always whole lines
outputs.json            outputs and checkpoints of the attempt that finished, with hashes (contract/folder/outputs)
out.log                 output of all ranks
attempts/N.began        on Slurm: the batch script of attempt N has begun; written by the script's first start
attempts/N.json         the job that carries out attempt N: created once, before any work
attempts/N.rendezvous   where rank 0 of attempt N listens, and the attempt's secret; only the owner can read it
attempts/N.beat         heartbeat of attempt N: the file's modification time counts
attempts/N.again        the job of attempt N that the cluster started a second time, and that ended at once
attempts/N.ranks        hosts and clock offsets of the ranks of attempt N; rank 0 writes the file at rendezvous
attempts/N.pause        in a program: the call of `should_pause` after which the ranks of attempt N pause
attempts/N.pause-request  in a program: a rank of attempt N received a signal that asks for a pause
attempts/N.paused       in a program: attempt N pauses, and after which step
attempts/N.progress-R   in a program: what rank R notes about its progress (bigbatch/injected/stalls)
attempts/N.stacks-R.txt  in a program: the last stack of rank R, or the stacks of its threads when it stalled
attempts/N.threads-R.txt  in a program: where faulthandler of rank R writes when the agent asks for stacks
attempts/N.flight-R     in a program: torch's record of the last collectives of rank R, when it stalled
attempts/N.lines-R.out, .err  in a program: what rank R writes, until a source of its output has read it (agent/ranks)
attempts/N.lines-R.end  in a program: where the lines of rank R and of the next ranks of its agent end
attempts/work.copied    in a program: the paths of the copies from the code snapshot in `work` (agent/program)
attempts/N.jobs         in a program: numbers of the jobs that attempt N submitted itself, with the second
attempts/bin/sbatch     in a program: the script that the ranks find before sbatch (agent/program/inner_jobs.py)
attempts/sources.json   in a program: how far the sources of metrics were read (agent/sources)
attempts/N.rank-R.json  why rank R of attempt N failed
attempts/N.stop         in a shared job: the request to end attempt N, "TERM" or "KILL"
attempts/N.end          in a shared job: the exit code of attempt N; written once
attempts/N.log          byte of out.log at which attempt N starts; absent for the first attempt, which starts at 0
bad-images/             the images that cannot be decoded, one file each
volume/                 in a program with a volume: leases and finished tasks (trainers/volume/task_folder.py)
work/                   in a program with a code snapshot: the run's copy of it, in which the ranks start
checkpoints/            the run's checkpoints (trainers/checkpoints)
submission/             the files of the submission
"""
