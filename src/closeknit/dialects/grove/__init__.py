"""Grove's PodGangs and ClusterTopologies."""
