"""Cluster state: nodes as columns, usage per node and leaf, and the tree of domains above them."""
