"""Filter and score of NodeResourceTopologyMatch, for all nodes at once."""
