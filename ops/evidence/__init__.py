"""Evidence: figures beside those that the rules' sources state, made anew by `make evidence`.

    world.py        what a generated session is about: topics with names, limits, bans, dates and decisions
    generator.py    turns of a long session, and a transcript of any size, from a seed
    compactor.py    a lossy summariser and a careless retrieval store, the way they are usually built
    longrun.py      one long session and what is counted in it
    sides.py        the two ways in which it runs: with the ledger's rules and without
    rounds.py       what real rounds keep and drop, by the fourth source's rule and by ours
    because.py      the sample of sentences with *because*, and a reader's verdicts on it

Nothing here is part of the ledger: it only reads and drives it. All of it is a function of the seed and the files read.
"""
