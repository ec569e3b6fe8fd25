"""Placing trees of groups on nodes, with backtracking between siblings and between domains."""
