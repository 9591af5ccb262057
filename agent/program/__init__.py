"""What the spec of a program says: the command, its files of parameters and the environment of its ranks."""
