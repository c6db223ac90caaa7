"""What was sent, answered and ordered: the truth that the daemon is measured by. It is written by the clients alone.

Instants are of the monotonic clock, which all processes of the machine share.
"""

import hashlib
import itertools
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from math import inf

from stressing.cells import slot_name

HISTORIES_MOST = 3
VIOLATIONS_MOST = 20  # after that a run ends


@dataclass(frozen=True)
class Place:
    """A session as the daemon names it."""

    owner: str
    child: str
    session: str

    def params(self):
        return {"owner": self.owner, "child": self.child, "session": self.session}


@dataclass(eq=False)
class Order:
    """Something that was asked for or done to a session and has a right to an effect from `since` to `until`."""

    kind: str  # reset, close, interrupt, kill, unsaved
    since: float
    until: float = inf
    slot: tuple = None  # None: all of the session
    cell: str = None  # of an interrupt; None: whatever runs


@dataclass(frozen=True)
class Final:
    """A final result, as far as it is looked at again. `digest` is of all of it."""

    status: str
    digest: str
    value: str
    stdout_bytes: int
    duration_ms: int
    error: str
    death: str
    fallback: str
    kernel: str
    count: int
    reason: str
    restored: bool
    lost: bool
    reset: bool
    ended: bool
    notices: tuple  # (id, kind)
    text: str  # for the reader of a violation


def final_of(result):
    kept = {name: value for name, value in result.items() if name not in ("replayed", "text")}
    kernel = result["kernel"] or {}
    death = result["death"]
    return Final(
        status=result["status"],
        digest=hashlib.sha1(json.dumps(kept, sort_keys=True).encode()).hexdigest(),
        value=result["value"],
        stdout_bytes=result["stdout_bytes"],
        duration_ms=result["duration_ms"],
        error=(result["error"] or {}).get("name"),
        death=death and f"{death['cause']} {death['signal'] or death['exit_code']}",
        fallback=result["fallback"],
        kernel=kernel.get("id"),
        count=kernel.get("execution_count", 0),
        reason=kernel.get("reason"),
        restored=kernel.get("restored", False),
        lost=kernel.get("state_lost", False),
        reset=kernel.get("state_reset", False),
        ended=kernel.get("ended", False),
        notices=tuple((each["id"], each["kind"]) for each in result["notices"]),
        text=f"{result['status']} value={result['value']} error={(result['error'] or {}).get('message')} death={death and death['cause']}",
    )


@dataclass(eq=False)
class Cell:
    id: str
    slot: tuple
    kind: object
    code: str
    params: dict
    sent_at: float
    is_accepted: bool = False  # said so by the daemon
    is_uncertain: bool = False  # an answer was lost, or it was sent again after a refusal: its place in the order is not known
    is_sent_again: bool = False  # a refusal may be of the second request
    is_left: bool = False  # its client left and was not told of its acceptance: the daemon may come to it later than to what was sent since
    is_absent: bool = False  # settled: the daemon never took it
    is_closed: bool = False  # its session was closed before its outcome was known
    refused: int = None  # the code of the last refusal; None: not refused, or sent again since
    final: Final = None
    final_at: float = inf


@dataclass(eq=False)
class Session:
    """One life of a session of the daemon, from its first cell to its close; a name that is used again is another one."""

    serial: int
    place: Place
    source: "Session" = None  # it was forked from that one
    fork: Order = None
    cells: dict = field(default_factory=dict)  # by id, in the order of sending
    orders: list = field(default_factory=list)
    effects: list = field(default_factory=list)  # in the order of the file
    jobs: Counter = field(default_factory=Counter)  # cell -> how often its job ran
    operations: int = 0
    forks: int = 0
    untold: list = None  # kinds of the notices that no result had taken in the end; None: not asked for
    is_judged: bool = False  # it is closed, and nothing of it may run any more
    kernels: dict = field(default_factory=dict)  # slot -> the kernel that was seen last

    def here(self, slot):
        return f"{self.serial}/{slot_name(slot)}"

    def next_cell(self):
        return f"s{self.serial}-{len(self.cells) + 1}"

    def slots(self):
        return sorted({cell.slot for cell in self.cells.values()})

    def order(self, kind, **fields):
        order = Order(kind, time.monotonic(), **fields)
        self.orders.append(order)
        return order

    def is_settled(self, cell):
        return cell.final is not None or cell.refused is not None or cell.is_absent


class Ledger:
    """What all threads share. `counts` are for the summary."""

    def __init__(self):
        self._lock = threading.Lock()
        self._serials = itertools.count(1)
        self._sessions = {}  # Place -> Session
        self.counts = Counter()
        self.statuses = Counter()
        self.violations = []
        self._said = 0  # of the violations
        self.histories = []  # of the first sessions with violations, as lines
        self.stopping = threading.Event()
        self.has_rested = threading.Event()  # what may be looked at when no cell runs has been
        self.requests = 0  # of all clients
        self._moved = threading.Condition(self._lock)

    def open_session(self, place, source=None):
        with self._lock:
            session = Session(next(self._serials), place, source)
            self._sessions[place] = session
            return session

    def forget(self, session):
        with self._lock:
            if self._sessions.get(session.place) is session:
                del self._sessions[session.place]

    def session_at(self, place):
        with self._lock:
            return self._sessions.get(place)

    def size(self):
        with self._lock:
            return len(self._sessions)

    def count(self, what):
        with self._lock:
            self.counts[what] += 1

    def step(self):
        """A client is about to do something."""
        with self._moved:
            self.requests += 1
            self._moved.notify_all()

    def wait_requests(self, number, seconds):
        """Whether the clients have come to that many within the time."""
        with self._moved:
            return self._moved.wait_for(lambda: self.requests >= number, seconds)

    def violate(self, text):
        with self._lock:
            self.violations.append(text)
            if len(self.violations) >= VIOLATIONS_MOST:
                self.stopping.set()

    def unsaid(self):
        """The violations that this was not asked for before."""
        with self._lock:
            new, self._said = self.violations[self._said :], len(self.violations)
            return new

    def tell(self, lines):
        with self._lock:
            if len(self.histories) < HISTORIES_MOST:
                self.histories.append("\n".join(lines))

    def take_final(self, session, cell, result):
        """Records a final result; a second one must be the same."""
        final = final_of(result)
        if cell.final is None:
            cell.final, cell.final_at = final, time.monotonic()
            cell.is_accepted, cell.refused = True, None
            with self._lock:
                self.statuses[final.status] += 1
            if final.kernel and not final.ended:
                session.kernels[cell.slot] = final.kernel
        elif cell.final.digest != final.digest:
            self.violate(f"cell {cell.id} changed its outcome: first {cell.final.text}, then {final.text}")
