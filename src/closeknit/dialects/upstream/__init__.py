"""Kubernetes' own groups of pods, `scheduling.k8s.io`: PodGroup, CompositePodGroup and Workload."""
