"""What a cluster of Kubernetes is given so that Closeknit can work on it."""
