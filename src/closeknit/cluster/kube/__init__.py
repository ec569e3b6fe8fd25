"""The client: a thin layer over the Kubernetes API, for the embedded host and a real API server alike."""
