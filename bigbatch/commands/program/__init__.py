"""Commands about programs: submit one from the shell, and print an experiment as a file."""
