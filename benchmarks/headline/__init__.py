"""The shapes of the papers' headline figures, measured on the lab: one benchmark per figure, ratios within one run."""
