"""What NodeResourceTopologyMatch knows of a node's zones between two reports: its three caches, and evictions.

They are state machines over values: reports, pods and decisions come in, the zones to decide with come out. They are in
this package, not with the filter, because they count what nodes have and pods hold.
"""
