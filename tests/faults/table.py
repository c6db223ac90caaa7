"""For every failpoint: what becomes of a cell when the daemon, its kernel, the nursery, or daemon and kernel are killed there.

None: there is nothing of that kind to kill at that step.
"""

from dataclasses import dataclass, replace
from typing import Callable, Optional

from rows import exited, in_the_spool, interrupted, lost, moved, not_recorded, recorded, requeued, resent, unknown_cause, untouched

Row = Optional[Callable]


@dataclass(frozen=True)
class Outcomes:
    daemon: Row
    kernel: Row
    nursery: Row
    both: Row  # daemon and kernel
    # What the cell does after its effect: `ends`, `waits`, `exits` (os._exit(3)) or `is_interrupted` (and goes on to its end).
    # Left out, it ends, but waits where it is to be lost: there it has to be in mid-cell for as long as it takes.
    cell: Optional[str] = None
    skip: int = 0  # hits that pass before the one that counts


# A cell is accepted once its kernel is acquired: on a cold session that is when the spawn is answered.
AT_SPAWN = Outcomes(daemon=not_recorded, kernel=None, nursery=untouched, both=None)
FORKED = Outcomes(daemon=not_recorded, kernel=untouched, nursery=untouched, both=not_recorded)
UNSENT = Outcomes(daemon=resent, kernel=requeued, nursery=untouched, both=requeued)
SENT = Outcomes(daemon=resent, kernel=lost, nursery=untouched, both=lost)
DONE = Outcomes(daemon=resent, kernel=in_the_spool, nursery=untouched, both=in_the_spool)
MOVED = Outcomes(daemon=moved, kernel=recorded, nursery=untouched, both=recorded)
RECORDED = Outcomes(daemon=recorded, kernel=recorded, nursery=untouched, both=recorded)
# Steps that a cell on a cold session does not come by: test_saved_namespaces_crash.py, test_session_fork.py and test_orphans.py of
# end_to_end kill there, and successors_test.cpp of exec is late there.
NO_CELL = Outcomes(daemon=None, kernel=None, nursery=None, both=None)

GATEWAY = {
    "core.before_accept_recorded": FORKED,
    "core.after_accept_recorded": UNSENT,
    "core.before_spawn_requested": AT_SPAWN,
    "core.after_spawn_recorded": AT_SPAWN,
    "core.before_attach_sent": Outcomes(  # the first hit is the nursery's attach; a cell is accepted right after this one
        daemon=not_recorded, kernel=requeued, nursery=untouched, both=not_recorded, skip=1
    ),
    "core.after_hello": UNSENT,
    "link.before_execute_sent": UNSENT,
    "link.after_execute_sent": SENT,
    "core.before_started_recorded": SENT,
    "core.after_started_recorded": SENT,
    "link.before_ack": SENT,
    "link.after_ack": SENT,
    "core.before_result_recorded": DONE,
    "core.after_result_recorded": RECORDED,
    "core.before_reply": RECORDED,
    "core.after_reply": RECORDED,
    "core.before_moved_to_disk": MOVED,
    "core.after_moved_to_disk": MOVED,
    "core.before_files_removed": NO_CELL,
    "core.before_saved_recorded": NO_CELL,
    "core.after_saved_recorded": NO_CELL,
    "core.after_saved_unlinked": NO_CELL,
    "core.before_orphan_recorded": NO_CELL,
    "core.after_orphan_recorded": NO_CELL,
    "core.before_orphan_forgotten": NO_CELL,
    "core.after_orphan_forgotten": NO_CELL,
    "core.before_restored_recorded": NO_CELL,
    "core.after_restored_recorded": NO_CELL,
    "core.after_fork_recorded": NO_CELL,
    "core.before_clone_recorded": NO_CELL,
    "core.after_clone_recorded": NO_CELL,
}

KERNEL = {
    "kernel.before_hello_sent": UNSENT,
    "kernel.after_hello_sent": UNSENT,
    "kernel.after_execute_received": UNSENT,
    "kernel.before_started_spooled": UNSENT,
    "kernel.after_started_spooled": SENT,
    "kernel.before_started_sent": SENT,
    "kernel.after_started_sent": SENT,
    "kernel.before_output_sent": SENT,
    "kernel.after_output_sent": SENT,
    "kernel.before_done_spooled": replace(SENT, cell="ends"),
    "kernel.after_done_spooled": DONE,
    "kernel.before_done_sent": DONE,
    "kernel.after_done_sent": DONE,
    "kernel.before_ack_processed": SENT,
    "kernel.after_ack_processed": SENT,
    "kernel.before_ack_sent": Outcomes(
        daemon=resent, kernel=interrupted, nursery=untouched, both=lost, cell="is_interrupted"
    ),
}

_EXIT = {"kernel": None, "both": None, "cell": "exits"}
NURSERY = {
    "nursery.before_hello_sent": AT_SPAWN,
    "nursery.after_hello_sent": AT_SPAWN,
    "nursery.before_spawn": AT_SPAWN,
    "nursery.after_fork": FORKED,
    "nursery.before_spawned_sent": FORKED,
    "nursery.after_spawned_sent": SENT,
    "nursery.before_ack_processed": SENT,
    "nursery.after_ack_processed": SENT,
    "nursery.before_exit_written": Outcomes(daemon=exited, nursery=unknown_cause, **_EXIT),
    "nursery.after_exit_written": Outcomes(daemon=exited, nursery=exited, **_EXIT),
    "nursery.before_exited_sent": Outcomes(daemon=exited, nursery=exited, **_EXIT),
    "nursery.after_exited_sent": Outcomes(daemon=exited, nursery=exited, **_EXIT),
}

TABLE = {**GATEWAY, **KERNEL, **NURSERY}
