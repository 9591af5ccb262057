"""K-FAC against SGD, LARS and LAMB: epochs and time to a target accuracy, and the cost of a step."""
