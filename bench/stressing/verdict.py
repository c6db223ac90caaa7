"""What may not be: pure decisions over one settled session of the ledger and its lines of the effects file.

Each check yields violations in words, with the ids that it is about. It refuses nothing that the contract allows: `lost`, and a namespace
that is gone, need a kill or an order of the script at that time in that slot, and must have been told.
"""

from stressing.cells import slot_name

NOT_RUN = ("kernel_changed", "start_failed", "at_capacity")  # errors of a cell that was accepted and never began
LOSSY = ("kill", "unsaved", "reset")  # orders after which a namespace may be gone
LOSS_KINDS = ("state_lost", "restarted")  # notices that tell it


def violations_of(session):
    yield from outcomes(session)
    yield from runs(session)
    yield from jobs(session)
    for slot in session.slots():
        yield from namespaces(session, slot)
    yield from order_of_cells(session)
    yield from notices(session)


def overlaps(session, kinds, slot, since, until):
    """The orders of these kinds that may have had their effect on the slot between two instants."""
    return [
        order
        for order in session.orders
        if order.kind in kinds and order.since <= until and order.until >= since and order.slot in (None, slot)
    ]


def losses(session, slot, since, until):
    """What may have ended the slot's namespace between two instants: orders, and cells that end their kernel."""
    found = [order.kind for order in overlaps(session, LOSSY, slot, since, until)]
    for cell in session.cells.values():
        may_end = cell.kind.ends_kernel or (cell.final and cell.final.ended and cell.final.status in ("timeout", "interrupted"))
        if cell.slot == slot and may_end and cell.sent_at <= until and cell.final_at >= since:
            found.append(f"{cell.kind.name} {cell.id}")
        if cell.params.get("reset") and cell.sent_at <= until and cell.final_at >= since:
            found.append("reset")
    return found


def outcomes(session):
    """Each accepted cell has one outcome, and one that its code and what was done to it allow."""
    for cell in session.cells.values():
        final = cell.final
        if final is None:
            if cell.is_accepted and not session.is_settled(cell) and not cell.is_closed:
                yield f"cell {cell.id} ({cell.kind.name}) was accepted and has no outcome"
            continue
        if final.status in cell.kind.ends and (final.status != "error" or final.error == "ValueError"):
            pass
        elif final.status == "error" and final.error in NOT_RUN:
            if final.error == "kernel_changed" and "if_kernel" not in cell.params:
                yield f"cell {cell.id} ended as kernel_changed without if_kernel"
        elif final.status == "interrupted":
            if not is_interruptible(session, cell):
                yield f"cell {cell.id} ({cell.kind.name}) was interrupted and nobody asked for it: {final.text}"
        elif final.status == "lost":
            if not losses(session, cell.slot, cell.sent_at, cell.final_at):
                yield f"cell {cell.id} ({cell.kind.name}) is lost and nobody ended its kernel {final.kernel}: death {final.death}"
        else:
            yield f"cell {cell.id} ({cell.kind.name}) may not end as {final.text}"
        if final.status == "timeout" and final.duration_ms < cell.params["timeout_ms"] - 5:
            yield f"cell {cell.id} ended as timeout after {final.duration_ms} ms of {cell.params['timeout_ms']}"
        if final.status in ("ok", "error", "exit") and final.error not in NOT_RUN and final.stdout_bytes != cell.kind.prints:
            yield f"cell {cell.id} printed {final.stdout_bytes} bytes, its code {cell.kind.prints}"


def is_interruptible(session, cell):
    for order in overlaps(session, ("interrupt", "reset", "close"), None, cell.sent_at, cell.final_at):
        if order.kind != "interrupt" or order.cell in (None, cell.id):
            return True
    return any(
        other.params.get("reset") and other is not cell and other.sent_at <= cell.final_at and other.final_at >= cell.sent_at
        for other in session.cells.values()
    )


def runs(session):
    """An effect at most once for each id, exactly once with `ok`, `error`, `exit`; never for what was refused. An answer tells it."""
    by_cell = {}
    for effect in session.effects:
        by_cell.setdefault(effect.cell, []).append(effect)
    for name, effects in by_cell.items():
        if len(effects) > 1:
            yield f"cell {name} ran {len(effects)} times: {effects}"
        cell = session.cells.get(name)
        if cell is None:
            yield f"cell {name} ran and was never sent"
        elif cell.refused is not None or cell.is_absent:
            how = "was refused" if cell.refused is not None else "was not known to the daemon"
            yield f"cell {name} {how} ({cell.refused}) and ran all the same: {effects}"
    for cell in session.cells.values():
        final, effects = cell.final, by_cell.get(cell.id, [])
        if final is None:
            continue
        has_run = final.status in ("ok", "error", "exit") and final.error not in NOT_RUN
        if has_run and not effects:
            yield f"cell {cell.id} ended as {final.status} and never ran"
        if final.error in NOT_RUN and effects:
            yield f"cell {cell.id} ended as {final.error} and ran all the same: {effects}"
        if final.status == "ok" and effects and final.value != repr(f"{effects[0].life} {effects[0].count}"):
            yield f"cell {cell.id} answered {final.value} and did {effects[0].life} {effects[0].count}"


def jobs(session):
    for name, times in session.jobs.items():
        if times > 1:
            yield f"the job of cell {name} ran {times} times"
        if not any(effect.cell == name for effect in session.effects):
            yield f"the job of cell {name} ran without its cell"


def namespaces(session, slot):
    """In each slot one namespace after the other, each counted up without a step back, none of anybody else; a loss has a cause, and is
    told."""
    here = session.here(slot)
    effects = [effect for effect in session.effects if effect.cell in session.cells and session.cells[effect.cell].slot == slot]
    # An interrupted cell may have counted and not written.
    gaps = sum(
        1
        for cell in session.cells.values()
        if cell.slot == slot and cell.final and cell.final.status in ("interrupted", "timeout", "lost")
        and not any(effect.cell == cell.id for effect in effects)
    )
    ended, before = set(), None
    for effect in effects:
        cell = session.cells[effect.cell]
        if cell.final and cell.final.fallback:
            continue  # an interpreter of its own
        what = f"cell {cell.id} in {here}"
        if effect.home != here or not effect.life.startswith(f"s{session.serial}-"):
            yield f"{what} ran in the namespace of {effect.home}, life {effect.life}"
        if (effect.tools if effect.tools != "-" else "") != "+".join(slot):
            yield f"{what} found the tools {effect.tools}, its session names {slot_name(slot)}"
        if effect.life in ended:
            yield f"{what} ran in life {effect.life}, which had been replaced before"
        if before is not None and effect.life == before.life:
            missing = effect.count - before.count - 1
            if missing < 0:
                yield f"{what}: the namespace went back from {before.count} (cell {before.cell}) to {effect.count}"
            elif missing > gaps:
                yield f"{what}: {missing} counts between cells {before.cell} and {cell.id} belong to no cell"
            gaps -= max(missing, 0)
            yield from same_namespace(session, before, effect, what)
        elif before is None:
            yield from first_namespace(session, slot, effect, what)
            gaps -= effect.count - 1
        else:
            ended.add(before.life)
            yield from new_namespace(session, slot, before, effect, what)
            gaps -= effect.count - 1
        before = effect


def told_since(session, slot, before, effect):
    """Whether a cell between the two said that its fresh kernel was empty: it was interrupted before it counted, say."""
    return any(
        (other.final.lost or other.final.reset) and not other.final.ended and other.final.kernel != kernel_of(session, before)
        for other in session.cells.values()
        if other.slot == slot and other.final and other.sent_at <= effect.at and other.final_at >= before.at
    )


def told_by_kernel(session, cell, fact):
    """Whether a result of the cell's kernel, up to the cell's, says so: the first cell in a kernel tells what came before."""
    return any(
        fact(other.final)
        for other in session.cells.values()
        if other.final and other.final.kernel == cell.final.kernel and other.final.count <= cell.final.count
    )


def kernel_of(session, effect):
    final = session.cells[effect.cell].final
    return final.kernel if final else None


def same_namespace(session, before, effect, what):
    """The namespace of the last cell: in the same kernel, or in another one that says that it was restored."""
    cell = session.cells[effect.cell]
    kernels = kernel_of(session, before), kernel_of(session, effect)
    if None in kernels or kernels[0] == kernels[1]:
        return
    if not told_by_kernel(session, cell, lambda final: final.restored):
        yield f"{what} has the namespace of kernel {kernels[0]} in kernel {kernels[1]}, which does not say that it was restored"


def new_namespace(session, slot, before, effect, what):
    """Another namespace than the last cell's: something has ended that one, and it was told."""
    cell = session.cells[effect.cell]
    causes = losses(session, slot, before.at, effect.at)
    if not causes:
        yield f"{what}: the namespace of cell {before.cell} (life {before.life} {before.count}) is gone and nobody ended it"
    if cell.final is None or cell.final.kernel is None:
        return
    if kernel_of(session, before) == cell.final.kernel:
        yield f"{what}: kernel {cell.final.kernel} has lost its namespace"
    elif not told_by_kernel(session, cell, lambda final: final.lost or final.reset) and not told_since(session, slot, before, effect):
        yield f"{what}: the namespace of cell {before.cell} is gone ({causes}) and kernel {cell.final.kernel} does not say so"


def first_namespace(session, slot, effect, what):
    """Empty in a session of its own; in a fork a copy of what the source had then, or told why not."""
    if session.source is None:
        if effect.came != "-":
            yield f"{what}: a fresh session has the namespace of {effect.came}"
        return
    if effect.came == "-":
        final = session.cells[effect.cell].final
        source = session.source
        before = [each for each in source.effects if source.cells[each.cell].slot == slot and each.at < session.fork.since]
        only = len(source.slots()) == 1 and before and effect.life == effect.cell
        if only and final and final.reason == "first" and not losses(source, slot, before[-1].at, session.fork.until):
            yield f"{what}: the fork of {source.here(slot)} is empty and nobody ended its namespace"
        return
    home, life, count = effect.came.split("|")
    if home != session.source.here(slot):
        yield f"{what}: a fork of session {session.source.serial} has the namespace of {effect.came}"
        return
    counts = [each.count for each in session.source.effects if each.life == life and each.at <= session.fork.until]
    ended = [each.count for each in session.source.effects if each.life == life and each.at < session.fork.since]
    if not counts or int(count) > max(counts) + 5 or (ended and int(count) < max(ended)):
        yield f"{what}: the fork has {effect.came}, its source had counted from {ended[-1:]} to {counts[-1:]} by then"


def order_of_cells(session):
    """Cells begin in the order in which they were sent; those whose answer was lost or that were sent again have no place in it."""
    last = None
    for effect in session.effects:
        cell = session.cells.get(effect.cell)
        if cell is None or cell.is_uncertain:
            continue
        number = int(cell.id.split("-")[1])
        if last is not None and number < last:
            yield f"cell {cell.id} ran after cell s{session.serial}-{last}, which was accepted later"
        last = number


def notices(session):
    """Each is told once; a namespace that was lost is told by one."""
    told = {}
    for cell in session.cells.values():
        if cell.final is None:
            continue
        for notice, kind in cell.final.notices:
            if notice in told:
                yield f"notice {notice} ({kind}) rides on cell {told[notice]} and on cell {cell.id}"
            told[notice] = cell.id
    finals = [cell.final for cell in session.cells.values() if cell.final]
    if session.untold is not None:
        restored = {final.kernel for final in finals if final.restored and not final.ended}
        count = session.untold.count("restored") + sum(kind == "restored" for final in finals for _, kind in final.notices)
        if count < len(restored):
            yield f"{len(restored)} kernels were restored, and {count} notices say so"
    has_told = any(kind in LOSS_KINDS for final in finals for _, kind in final.notices)
    for cell in session.cells.values():
        if cell.final and cell.final.lost and not cell.final.ended:
            if not has_told:
                yield f"cell {cell.id} says that the namespace was lost, and no notice does"
            causes = losses(session, cell.slot, 0, cell.final_at)
            if session.source:  # what was lost to the source is lost to the copy
                causes += losses(session.source, cell.slot, 0, session.fork.until)
            if not causes:
                yield f"cell {cell.id} says that the namespace was lost, and nobody ended it"
