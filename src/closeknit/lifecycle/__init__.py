"""The lifecycle of workloads and pods between decisions: pure functions from what is observed to actions."""
