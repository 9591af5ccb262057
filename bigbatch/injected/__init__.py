"""The time split and the stall watch inside a user's program: standard library only, Python 3.9 or newer."""
