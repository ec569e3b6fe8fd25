"""NodeResourceTopology of `topology.node.k8s.io`, and the arguments of the scheduler plug-in that reads it."""
