"""The answers of the HTTP extender of a stock kube-scheduler, as values."""
