"""What a job does in the folder of its run: the claim, the heartbeat, events, outputs, and runs that share a job.

The agent, the engine and the users' scripts have it in common. Standard library and Python 3.9 only, and no import of
another package of the project. Its files import each other relatively, because a script may have a module `runfiles`
of its own, and then has this package under another name (bigbatch/running/runfiles.py).
"""
