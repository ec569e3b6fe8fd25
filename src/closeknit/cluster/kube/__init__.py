"""The client: one thin way to any server of the Kubernetes protocol, the embedded host and a real API server alike."""
