"""Closeknit beside the real Kueue: the same nodes, queues and jobs on two clusters, and what each makes of them.

    worlds     nodes, flavors, cohorts and queues, made from a seed
    work       jobs for them
    script     what happens, in which order
    sides      a cluster with its controller, Kueue or Closeknit
    stage      a world on both sides, step by step
    diary      what became of the workloads there, in the order of the changes
    marks      the order of admissions and evictions
    views      what of a workload has to be alike
    known      differences that are explained in docs/differences.md
    run        all of it: `python -m peers.run`
    crds       our definitions beside Kueue's
    real       from Kueue to Closeknit and back while jobs run

Needs servers that are built with Go; `make test-peers`.
"""
