"""A client thread: random requests to sessions of its own, side by side; each session is settled after some of them and closed.

No two workers share a session, so that what is never sent again after a close is a matter of one thread. What it does next is decided by
its own seed; only which requests are still open when it does is a matter of time.
"""

import contextlib
import random
import threading
import time
import traceback

from holdfast_test.client import ConnectionLost, RpcError
from stressing.asking import ANSWER_SECONDS, Asking
from stressing.cells import KINDS, SLOTS, WEIGHTS, code_of
from stressing.ledger import Cell, Order, Place
from stressing.requesting import Open, Requests
from stressing.settling import end_cells, settle

PARKED_OPERATIONS = 12  # of a session, after which it is not parked any more: the ledger keeps all its cells
ENDLESS_SECONDS = 0.3  # until a cell without an end is interrupted
OPEN_MOST = 8  # requests of a worker at once
CELL_TIMEOUT_MS = 20000
NOT_FOUND, CONFLICT, BUSY, UNREACHABLE, CANNOT_FORK = 1001, 1002, 1004, 1008, 1013


class Worker(threading.Thread, Requests):
    def __init__(self, number, options, ledger, effects, socket_path):
        threading.Thread.__init__(self, name=f"client-{number}", daemon=True)
        Requests.__init__(self, ledger, Asking(socket_path))
        self.number = number
        self.effects = effects
        self.options = options
        self.random = random.Random(f"{options.seed}/{number}")
        self.sessions = []
        self.owners = 0
        self.share = max(1, options.sessions // options.clients)  # of its own at once
        self.parked = []  # hibernated, and left alone for a while
        self.parked_most = options.parked // options.clients
        self.requests = 0
        self.is_done = False  # it has no open request and no cell that runs
        # (how often, what)
        self.operations = (
            (60, self.run_cell),
            (8, self.send_again),
            (3, self.send_other_code),
            (6, self.get_cell),
            (6, self.wait_for_cell),
            (4, self.interrupt),
            (1, self.reset),
            (4, self.stop_kernel),
            (2, self.fork),
            (2, self.send_and_leave),
            (2, self.look),
        )

    # -- the thread

    def run(self):
        try:
            while not self.ledger.stopping.is_set() and self.requests != (self.options.requests or None):
                self.step()
            self.drain(self.opens)
            for session in [*self.sessions, *self.parked]:
                end_cells(self, session)
            self.is_done = True
            self.ledger.has_rested.wait()
            while self.sessions or self.parked:
                self.retire((self.sessions or self.parked)[0])
        except Exception:  # the run must say so and end
            self.ledger.violate(f"client {self.number} failed: {traceback.format_exc()}")
            self.ledger.stopping.set()
        finally:
            self.is_done = True
            self.asking.close()

    def step(self):
        self.requests += 1
        self.ledger.step()
        if self.asking.is_used_up:
            self.drain(self.opens)
        self.reap()
        while len(self.opens) >= OPEN_MOST:
            self.wait_for_one()
        if len(self.sessions) < self.share and self.random.random() < 0.3:
            self.sessions.append(self.next_session())
        if not self.sessions:
            return
        session = self.random.choice(self.sessions)
        session.operations += 1
        weights = [weight for weight, _ in self.operations]
        _, operation = self.random.choices(self.operations, weights)[0]
        try:
            operation(session)
            for each in self.sessions:
                self.end_endless(each)
        except ConnectionLost:
            self.ledger.count("connections lost")
        if session.operations > self.options.length and self.random.random() < 0.1:
            self.retire(session)
        elif session.operations < PARKED_OPERATIONS and self.random.random() < 0.15:
            self.park(session)

    def next_session(self):
        """A new one, or one that was parked when there are many of them."""
        if self.parked and self.random.random() < 0.6 * len(self.parked) / max(1, self.parked_most):
            self.ledger.count("sessions woken")
            return self.parked.pop(self.random.randrange(len(self.parked)))
        return self.ledger.open_session(self.next_place())

    def next_place(self):
        """A new owner, or another session or a child of the last one."""
        if self.owners == 0 or self.random.random() < 0.6:
            self.owners += 1
            self.ledger.count("owners")
        owner = f"w{self.number}.o{self.owners}"
        child = self.random.choice([None, None, "child"])
        for number in range(1000):
            place = Place(owner, child, f"session{number}")
            if self.ledger.session_at(place) is None:  # a closed one's name is used again
                return place
        raise AssertionError("an owner of 1000 sessions")

    # -- operations

    def make_cell(self, session):
        kind = self.random.choices(KINDS, WEIGHTS)[0]
        slot = self.random.choice(session.slots() or [()]) if self.random.random() < 0.9 else self.random.choice(SLOTS)
        params = {"timeout_ms": CELL_TIMEOUT_MS, "stream": True, "tools": list(slot), **dict(kind.params)}
        if self.random.random() < 0.3 or kind.is_endless:
            params["wait_ms"] = self.random.choice([0, 10, 200])
        if self.random.random() < 0.01:
            params["reset"] = True
        if self.random.random() < 0.05 and slot in session.kernels:
            params["if_kernel"] = session.kernels[slot]
        if self.random.random() < 0.1:
            params["text_limit"] = 2000
        name = session.next_cell()
        seconds = self.random.uniform(0.01, 0.3)
        code = code_of(kind, name, session.here(slot), self.effects.path, seconds)
        cell = session.cells[name] = Cell(name, slot, kind, code, params, time.monotonic())
        return cell

    def run_cell(self, session):
        self.send_cell(session, self.make_cell(session))

    def send_cell(self, session, cell):
        try:
            return self.send("cells", session, "run", cell=cell, params={"code": cell.code, "cell": cell.id, **cell.params})
        except ConnectionLost:
            cell.is_uncertain = cell.is_uncertain or not cell.is_accepted
            raise

    def any_cell(self, session, accepted=False):
        found = [cell for cell in session.cells.values() if cell.is_accepted or not accepted]
        return self.random.choice(found) if found else None

    def send_again(self, session):
        cell = self.any_cell(session)
        if cell is None:
            return
        if not cell.is_accepted:
            cell.is_uncertain, cell.refused = True, None
        cell.is_sent_again = True
        self.ledger.count("sent again")
        self.send_cell(session, cell)

    def send_other_code(self, session):
        cell = self.any_cell(session, accepted=True)
        if cell is None:
            return

        def on_answer(result):
            self.ledger.violate(f"cell {cell.id} was sent with other code and answered as {result['status']}")

        params = {"code": cell.code + "\n# other", "cell": cell.id}
        self.send("conflicts", session, "run", params=params, on_answer=on_answer, codes=(CONFLICT,))

    def get_cell(self, session):
        cell = self.any_cell(session)
        if cell:
            self.send("gets", session, "cell.get", cell=cell, params={"cell": cell.id})

    def wait_for_cell(self, session):
        cell = self.any_cell(session)
        if cell:
            params = {"cell": cell.id, "wait_ms": self.random.choice([0, 50, 1000])}
            self.send("waits", session, "cell.wait", cell=cell, params=params)

    def interrupt(self, session):
        cell = self.any_cell(session)
        if cell and self.random.random() < 0.8:
            return self.interrupt_cell(session, cell)
        self.send("interrupts", session, "cell.interrupt", order=session.order("interrupt"), codes=(NOT_FOUND,))

    def interrupt_cell(self, session, cell):
        order = session.order("interrupt", cell=cell.id)
        try:
            self.send("interrupts", session, "cell.interrupt", cell=cell, order=order, params={"cell": cell.id})
        except ConnectionLost:
            order.until = time.monotonic()

    def end_endless(self, session):
        """What would run without an end is interrupted, some time after it was sent: the queue behind it has to move on."""
        for cell in session.cells.values():
            if cell.kind.is_endless and cell.is_accepted and cell.final is None and time.monotonic() > cell.sent_at + ENDLESS_SECONDS:
                if not any(each.cell is cell and each.what == "interrupts" for each in self.opens):
                    self.interrupt_cell(session, cell)

    def reset(self, session):
        self.send("resets", session, "session.reset", order=session.order("reset"), codes=(NOT_FOUND,))

    def stop_kernel(self, session):
        if not session.kernels:
            return
        slot, kernel = self.random.choice(sorted(session.kernels.items()))
        is_saved = self.random.random() < 0.85
        order = None if is_saved else session.order("unsaved", slot=slot)
        client = self.asking.client()
        self.ledger.count("saved stops" if is_saved else "unsaved stops")
        made = Open(None, client, "stops", time.monotonic(), session, order=order, codes=(NOT_FOUND, BUSY, UNREACHABLE))
        made.pending = client.send("kernel.stop", kernel=kernel, save=is_saved)
        self.opens.append(made)

    def fork(self, session):
        if session.source is not None or session.forks >= 2 or not session.cells:
            return
        session.forks += 1
        into = Place(session.place.owner, session.place.child, f"fork{session.serial}.{session.forks}")
        copy = self.ledger.open_session(into, source=session)
        copy.fork = Order("fork", time.monotonic())

        def on_answer(_):
            self.ledger.count("forks made")
            self.sessions.append(copy)

        try:
            self.send("forks", session, "session.fork", order=copy.fork, copy=copy, params={"into": into.session},
                      on_answer=on_answer, codes=(NOT_FOUND, BUSY, 1005, 1007, UNREACHABLE, CANNOT_FORK))
        except ConnectionLost:
            settle(self, [copy])
            raise

    def send_and_leave(self, session):
        """A client that disconnects before its cell has ended."""
        cell = self.make_cell(session)
        cell.params.pop("wait_ms", None)
        cell.is_uncertain = True
        self.ledger.count("clients that left")
        with self.asking.connect() as client:
            pending = client.send("run", code=cell.code, cell=cell.id, **session.place.params(), **cell.params)
            if self.random.random() < 0.7:
                client.wait_accepted(cell.id, pending, ANSWER_SECONDS)
                cell.is_accepted = bool(client.notifications("cell.accepted", cell=cell.id))
        cell.is_left = not cell.is_accepted

    def look(self, session):
        method = self.random.choice(["session.variables", "session.get", "notice.list", "job.list", "cell.list"])
        self.send("looks", session, method, codes=(NOT_FOUND, BUSY, UNREACHABLE))

    # -- the end of a session

    def retire(self, session):
        """Everything of it is settled and judged; then it is closed, sometimes in a cell, sometimes with all of its owner or child."""
        owner, leaving = None, [session]
        if self.random.random() < 0.3:
            owner = {"owner": session.place.owner}
            if session.place.child and self.random.random() < 0.5:
                owner["child"] = session.place.child
            leaving = [each for each in [*self.sessions, *self.parked]
                       if each.place.owner == session.place.owner and owner.get("child") in (None, each.place.child)]
        while any(each.session in leaving for each in self.opens):
            self.drain([each for each in self.opens if each.session in leaving])
            copies = [each for each in self.sessions if each.source in leaving and each not in leaving]
            leaving += copies if owner else []  # made meanwhile
        settle(self, leaving, owner)
        self.sessions = [each for each in self.sessions if each not in leaving]
        self.parked = [each for each in self.parked if each not in leaving]

    def park(self, session):
        """It is hibernated and left alone until its turn comes, or until the end: of many sessions few have kernels."""
        if len(self.parked) >= self.parked_most:
            return
        self.drain([each for each in self.opens if each.session is session])
        for kernel in session.kernels.values():
            with contextlib.suppress(RpcError):  # it is busy, or gone
                self.asking.ask("kernel.stop", kernel=kernel)
        self.ledger.count("sessions parked")
        self.sessions.remove(session)
        self.parked.append(session)
