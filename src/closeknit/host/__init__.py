"""Hosts run the control plane: an embedded cluster on any clock, or a controller of a Kubernetes API server."""
