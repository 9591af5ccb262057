"""Print tables, progress and messages; parse and format quantities with units."""
