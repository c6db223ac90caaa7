"""The end of a session: each cell is brought to its outcome and asked for once more, the verdict is made, and the session is closed.

Some are closed in the middle of a cell, and then asked whether really nothing of them is there any more.
"""

import time

from holdfast_test.client import RpcError
from stressing.asking import RETRY_SECONDS
from stressing.cells import KINDS, code_of
from stressing.effects import Effect
from stressing.history import history_of
from stressing.ledger import Cell
from stressing.verdict import violations_of

SETTLE_SECONDS = 120.0  # for a whole session on a loaded machine
WAIT_MS = 3000
LEFT_SECONDS = 5.0  # until a cell whose client left is there, or never was sent
NOT_FOUND, CONFLICT = 1001, 1002
PLAIN = next(kind for kind in KINDS if kind.name == "plain")


def settle(worker, sessions, owner=None):
    """Judges sessions of a worker that has no open request for them. `owner`: the params of an owner.close that closes them all."""
    for session in sessions:
        bring_to_outcomes(worker, session)
    if owner is not None:
        close_owner(worker, sessions, owner)
    for session in sessions:
        close(worker, session)
        judge(worker, session)


def bring_to_outcomes(worker, session):
    """Each cell has its outcome afterwards, and has been asked for once more; but for one that is left running, perhaps."""
    end_cells(worker, session)
    last_touches(worker, session)
    end_cells(worker, session)
    for cell in session.cells.values():
        if cell.final:
            ask_again(worker, session, cell)
            if cell.kind.prints and cell.final.status == "ok":
                read_output(worker, session, cell)
    if worker.options.counts_notices:
        rows = worker.asking.ask("notice.list", limit=1000, **session.place.params())["items"]
        session.untold = [row["kind"] for row in rows if row["child"] == session.place.child]
    if worker.random.random() < 0.2 and session.cells:
        close_in_a_cell(worker, session)


def end_cells(worker, session):
    """Each cell has its outcome afterwards."""
    for cell in session.cells.values():
        if cell.kind.is_endless and not session.is_settled(cell):
            end_cell(worker, session, cell)
    deadline = time.monotonic() + SETTLE_SECONDS
    for cell in session.cells.values():
        while not session.is_settled(cell):
            if time.monotonic() > deadline:
                worker.ledger.violate(f"cell {cell.id} ({cell.kind.name}) has no outcome after {SETTLE_SECONDS:g} s")
                break
            end_cell(worker, session, cell)


def judge(worker, session):
    ledger = worker.ledger
    if session.source:
        take_effects(worker, session.source)
    take_effects(worker, session)
    session.is_judged = True
    found = list(violations_of(session))
    for violation in found:
        ledger.violate(f"session {session.serial} {session.place}: {violation}")
    if found:
        sources = history_of(session.source) if session.source else []
        ledger.tell([f"session {session.serial}, {session.place}:", *history_of(session), *["  its source:"][: len(sources)], *sources])
    ledger.count("sessions settled")
    ledger.forget(session)


def last_touches(worker, session):
    """One more cell for each kernel key: what is in the namespace in the end."""
    for slot in session.slots():
        name = session.next_cell()
        code = code_of(PLAIN, name, session.here(slot), worker.effects.path, 0)
        cell = Cell(name, slot, PLAIN, code, {"timeout_ms": 20000, "tools": list(slot)}, time.monotonic(), is_uncertain=True)
        session.cells[name] = cell
        submit(worker, session, cell)


def submit(worker, session, cell):
    """Sends a cell until the daemon has it or refuses it for good."""
    params = {**cell.params, "code": cell.code, "cell": cell.id, "stream": False}
    try:
        worker.ledger.count("cells")
        result = worker.asking.ask("run", **session.place.params(), **params)
    except RpcError as problem:
        worker.ledger.count(f"refused {problem.code}")
        cell.refused = problem.code
        return
    cell.is_accepted = True
    if result["final"]:
        worker.ledger.take_final(session, cell, result)


def end_cell(worker, session, cell):
    """One step of a cell towards its outcome."""
    place = session.place.params()
    try:
        result = worker.asking.ask("cell.get", cell=cell.id, **place)
        if not result["final"] and cell.kind.is_endless:
            order = session.order("interrupt", cell=cell.id)
            result = worker.asking.ask("cell.interrupt", cell=cell.id, **place)
            order.until = time.monotonic()
        if not result["final"]:
            result = worker.asking.ask("cell.wait", cell=cell.id, wait_ms=WAIT_MS, **place)
    except RpcError as problem:
        if problem.code != NOT_FOUND:
            worker.ledger.violate(f"cell {cell.id} cannot be asked for: {problem}")
        elif cell.is_accepted:
            worker.ledger.violate(f"cell {cell.id} was accepted and is not known: {problem}")
        elif cell.is_left and time.monotonic() < cell.sent_at + LEFT_SECONDS:
            time.sleep(RETRY_SECONDS)
            return
        cell.is_absent = True
        return
    if result["final"]:
        worker.ledger.take_final(session, cell, result)


def ask_again(worker, session, cell):
    """Its outcome is the same, by `cell.get` or by sending it again."""
    is_sent = worker.random.random() < 0.2
    try:
        if is_sent:
            params = {**cell.params, "code": cell.code, "stream": False, "reset": True}
            result = worker.asking.ask("run", cell=cell.id, **session.place.params(), **params)
            if not result["replayed"]:
                worker.ledger.violate(f"cell {cell.id} was sent again and not replayed: {result['status']}")
        else:
            result = worker.asking.ask("cell.get", cell=cell.id, **session.place.params())
    except RpcError as problem:
        return worker.ledger.violate(f"cell {cell.id} is {cell.final.status} and cannot be asked for: {problem}")
    if not result["final"]:
        return worker.ledger.violate(f"cell {cell.id} was {cell.final.status} and is {result['status']} now")
    worker.ledger.take_final(session, cell, result)


def read_output(worker, session, cell):
    """All that it printed is there, in order."""
    page = worker.asking.ask("cell.output", cell=cell.id, **session.place.params())
    text = "".join(chunk["text"] for chunk in page["chunks"])
    if text != "".join(f"{number:08d}\n" for number in range(cell.kind.prints // 9)):
        worker.ledger.violate(f"cell {cell.id} printed other text than is kept: {text[:200]!r} of {page['total_bytes']} bytes")


def close_in_a_cell(worker, session):
    """Sends a cell that would run for long and waits for its acceptance: the close that follows has to end it."""
    kind = next(kind for kind in KINDS if kind.is_endless)
    slot = worker.random.choice(session.slots())
    name = session.next_cell()
    code = code_of(kind, name, session.here(slot), worker.effects.path, 0)
    cell = Cell(name, slot, kind, code, {"timeout_ms": 20000, "tools": list(slot), "wait_ms": 0}, time.monotonic(), is_uncertain=True)
    session.cells[name] = cell
    submit(worker, session, cell)
    worker.ledger.count("closes in a cell")


def close_owner(worker, sessions, owner):
    """All of an owner or of a child at once. What is left then is found by the close of each."""
    orders = [session.order("close") for session in sessions]
    worker.ledger.count("closes of owners")
    try:
        worker.asking.ask("owner.close", **owner)
    except RpcError as problem:
        if problem.code != NOT_FOUND:
            worker.ledger.violate(f"{owner} cannot be closed: {problem}")
    for order in orders:
        order.until = time.monotonic()
    for session in sessions:
        try:
            row = worker.asking.ask("session.get", **session.place.params())
            worker.ledger.violate(f"session {session.serial} {session.place} is there after the close of {owner}: {row}")
        except RpcError as problem:
            if problem.code != NOT_FOUND:
                worker.ledger.violate(f"session {session.serial} {session.place} after the close of {owner}: {problem}")


def close(worker, session):
    """Closes it, over deaths of the daemon, and sees that its cells are not known any more."""
    place = session.place.params()
    order = session.order("close")
    worker.ledger.count("closes")
    try:
        worker.asking.ask("session.close", **place)
    except RpcError as problem:
        # One that was never made, or whose close was done and its answer lost.
        if problem.code != NOT_FOUND:
            worker.ledger.violate(f"session {session.serial} {session.place} cannot be closed: {problem}")
    order.until = time.monotonic()
    for cell in list(session.cells.values())[-1:]:
        try:
            result = worker.asking.ask("cell.get", cell=cell.id, **place)
            worker.ledger.violate(f"cell {cell.id} of the closed session {session.place} is {result['status']}")
        except RpcError as problem:
            if problem.code != NOT_FOUND:
                worker.ledger.violate(f"cell {cell.id} of a closed session: {problem}")
    for cell in session.cells.values():
        if not session.is_settled(cell):
            cell.is_absent = not cell.is_accepted
            cell.is_closed = True


def take_effects(worker, session):
    for each in worker.effects.take(session.serial):
        if session.is_judged:
            worker.ledger.violate(f"of the closed session {session.serial} {session.place} something ran after its close: {each}")
        elif isinstance(each, Effect):
            session.effects.append(each)
        else:
            session.jobs[each] += 1
