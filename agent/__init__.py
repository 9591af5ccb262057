"""The agent of a program's run: the standard library alone, from Python 3.9 on."""
