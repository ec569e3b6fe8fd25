"""kube-scheduler's filters that look beyond one node: other pods, volumes and claims."""
