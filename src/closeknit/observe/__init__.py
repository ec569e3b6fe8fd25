"""Objects to values: what was read from outside becomes tables, columns and topologies, or a list of mistakes."""
