"""The subcommands of `bigbatch`, one module each."""
