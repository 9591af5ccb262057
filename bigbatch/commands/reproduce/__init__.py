"""The commands that repeat a run and compare what two runs ran."""
