"""A cluster in one process: a store of objects with Kubernetes' semantics, and stand-ins for what runs around it."""
