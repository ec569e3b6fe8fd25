"""What a kubelet does with the NUMA zones of its machine, and how a node reports it."""
