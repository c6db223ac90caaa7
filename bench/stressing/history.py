"""A session's story as text, for whoever looks into a violation: orders, cells, effects and outcomes in the order of time."""

from math import inf

from stressing.cells import slot_name

LINES_MOST = 120


def history_of(session):
    """One line for each, with seconds since the session's first cell."""
    effects = {effect.cell: effect for effect in session.effects}
    began = min([cell.sent_at for cell in session.cells.values()], default=0.0)
    lines = [(order.since, f"{order.kind} {order.cell or ''} until {_seconds(order.until, began)}, of {order.slot or 'all'}")
             for order in session.orders]
    for cell in session.cells.values():
        lines.append((cell.sent_at, f"{cell.id} {cell.kind.name} in {slot_name(cell.slot)}: {_became(cell, effects.get(cell.id), began)}"))
    if session.source is not None:
        lines.append((session.fork.since, f"forked from session {session.source.serial} until {_seconds(session.fork.until, began)}"))
    lines.sort()
    return [f"  {_seconds(at, began)} {text}" for at, text in lines][-LINES_MOST:]


def _became(cell, effect, began):
    parts = [word for word in ("reset", "if_kernel") if cell.params.get(word)]
    if effect:
        parts.append(f"counted {effect.life} {effect.count} at {_seconds(effect.at, began)}")
    if cell.is_uncertain:
        parts.append("uncertain")
    if cell.refused:
        parts.append(f"refused {cell.refused}")
    if cell.is_absent:
        parts.append("not known")
    final = cell.final
    if final:
        flags = [word for word in ("restored", "lost", "reset", "ended") if getattr(final, word)]
        told = [kind for _, kind in final.notices]
        parts.append(f"{final.status} at {_seconds(cell.final_at, began)}, cell {final.count} of {final.kernel} ({final.reason})"
                     f" {' '.join(flags)} death {final.death} notices {told}")
    return ", ".join(parts)


def _seconds(at, began):
    return "-" if at == inf else f"{at - began:.3f}"
