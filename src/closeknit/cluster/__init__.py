"""Where objects come from: manifests in files, the embedded cluster, or a Kubernetes API server.

Knows the model and the wire formats, nothing above them.
"""
