"""The choices that a run makes: model, data, optimizer, learning-rate schedule, rule, collective.

Each is a tagged union on `kind`. A new choice is one class here and one `case` in the file of the same name in
trainers/build/; for a collective, in trainers/plans.py.
"""
