"""Kueue's dialect: annotations on pod templates, its configuration, and the objects of `kueue.x-k8s.io`."""
