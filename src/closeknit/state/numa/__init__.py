"""What is free in zones between two reports: by accounts of our own, and as NodeResourceTopologyMatch knows it.

`accounts` charge what came since a report and give back what went. The three caches of the plug-in and its evictions
are kept for decisions that have to equal its own. All are state machines over values: reports, pods and decisions come
in, the zones to decide with come out. They are in this package because they count what nodes have and pods hold.
"""
