"""State: nodes as columns, what is used where, and the tree of domains above them."""
