"""Compares Closeknit with the real Kueue: the same nodes, queues and jobs on two clusters, and the results of each.

    worlds        nodes, flavors, cohorts and queues, made from a seed
    work          jobs for them
    script        the steps, in order
    sides         a cluster with its controller, Kueue or Closeknit
    stage         a world on both sides, step by step
    workload_log  the changes of the workloads there, in order
    marks         the order of admissions and evictions
    views         the parts of a workload that have to be equal
    known         differences that are explained in docs/differences.md
    run           all of it: `python -m peers.run`
    crds          our CRDs compared with Kueue's
    real          from Kueue to Closeknit and back while jobs run

Needs servers that are built with Go; `make test-peers`.
"""
