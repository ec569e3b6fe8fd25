"""Kueue's dialect: annotations on pod templates, and the objects of `kueue.x-k8s.io`."""
