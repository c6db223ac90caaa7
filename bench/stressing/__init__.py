"""What bench/stress.py is made of.

    cells      the kinds of cells, as code, and what each may end as
    ledger     what was sent, answered and ordered, apart from the daemon
    effects    the file that cells append to, apart from the daemon's home
    verdict    pure: what in ledger and effects may not be
    asking     connections of one client, over deaths of the daemon
    requesting the open requests of a client thread, and what their answers say
    worker     a client thread with sessions of its own: random requests, hibernation, and in the end
    settling   each session brought to its end, judged and closed
    history    a session's story, for whoever looks into a violation
    chaos      kills and restarts
    leftovers  what is still there when all is closed
    running    all of them together, once
"""
