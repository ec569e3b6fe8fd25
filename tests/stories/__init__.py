"""Stories: random lives of a small cluster in virtual time, with the invariants of the product checked all along.

A story is a list of steps that can be written down, so that one that breaks a rule can be told again, and made shorter
until every step in it is needed:

    python -m stories --seed 7            tell the story of this seed again
    python -m stories --stories 100       tell a hundred of them
    python -m stories --file story.json   tell one that was written down
"""
