"""NUMA as the kubelet and NodeResourceTopology objects define it: pure rules on values of the model."""
