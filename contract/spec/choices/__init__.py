"""The choices of a run: model, data, optimizer, learning-rate schedule, update rule, collective.

Each choice is a tagged union on `kind`. A new choice needs one class here and one `case` in the module of the same name
in trainers/build/; a new collective needs its `case` in trainers/plans.py.
"""
