"""The tables as the first migration makes them. They stay as they are: a change of the tables is a new migration."""
