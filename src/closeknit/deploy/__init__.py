"""Installing Closeknit on a Kubernetes cluster: definitions, permissions, admission policies, the controller."""
