"""Stories: random runs of a small cluster in virtual time, with the product's invariants checked throughout.

A story is a list of steps that can be saved, so that one that breaks an invariant can be replayed and shortened until
every step in it is needed:

    python -m stories --seed 7            replay the story of this seed
    python -m stories --stories 100       run a hundred stories
    python -m stories --seed 7 --zones    replay it on hosts with NUMA zones
    python -m stories --file story.json   replay a saved story
"""
