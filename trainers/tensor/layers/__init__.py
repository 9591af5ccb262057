"""The layers of a GPT on a mesh, each with its shard of the parameters."""
