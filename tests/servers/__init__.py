"""Real servers for the tests: built once from their modules, started on loopback, stopped by process id.

    versions      what there is, and at which version
    build         a binary, in a cache outside the work tree
    components    how each server is started
    process       one server while it runs
    cluster       RealCluster: etcd, kube-apiserver and the components that work with them
    operators     JobSet, LeaderWorkerSet and Kueue with their webhooks
    definitions   CustomResourceDefinitions of other projects
    nodes, stages simulated machines, and how the pods on them live

`python -m servers` runs a cluster for a person. No source or binary of other projects is kept here.
"""
