"""The REST API of the embedded host: the Kubernetes protocol, as far as kubectl and controllers use it."""
