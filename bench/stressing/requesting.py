"""The requests of one client thread that are not answered yet, and what their answers say of the ledger's cells.

An answer that contradicts the ledger is a violation at once: an outcome that changes, a cell that was accepted and is refused or not known.
"""

import time
from dataclasses import dataclass

from holdfast_test.client import ConnectionLost, RpcError
from stressing.asking import ANSWER_SECONDS, RETRY_SECONDS
from stressing.settling import settle

NOT_FOUND, SHUTTING_DOWN = 1001, 1012
# What may refuse a cell: at_capacity, queue_full, start_failed, unreachable, kernel_changed, shutting_down; each with nothing run.
REFUSALS = (1005, 1006, 1007, 1008, 1011, SHUTTING_DOWN)


@dataclass(eq=False)
class Open:
    """A request that is not answered yet."""

    pending: object
    client: object
    what: str
    sent_at: float
    session: object
    cell: object = None
    order: object = None
    copy: object = None  # the session that a fork would make
    was_accepted: bool = False  # the cell, when it was sent
    was_final: bool = False  # the same of its outcome
    on_answer: object = None  # called with its result
    codes: tuple = ()  # the errors that may answer it


class Requests:
    """What a client has open. The worker has `sessions`, and `end_endless` to end what would run for ever."""

    def __init__(self, ledger, asking):
        self.ledger = ledger
        self.asking = asking
        self.opens = []

    def send(self, what, session, method, **fields):
        """Sends a request of a session and keeps it open. `fields` of Open; `params` of the request."""
        params = fields.pop("params", {})
        client = self.asking.client()
        made = Open(None, client, what, time.monotonic(), session, **fields)
        made.was_accepted = made.cell is not None and made.cell.is_accepted
        made.was_final = made.cell is not None and made.cell.final is not None
        self.ledger.count(what)
        made.pending = client.send(method, **session.place.params(), **params)
        self.opens.append(made)
        return made

    def reap(self):
        """Takes the answers that are there."""
        for each in list(self.opens):
            if each.pending.is_answered or each.client.is_closed:
                self.take(each)
            elif time.monotonic() > each.sent_at + ANSWER_SECONDS:
                self.opens.remove(each)
                self.ledger.violate(f"{each.what} of session {each.session.serial} ({each.cell and each.cell.id}): no answer in 60 s")

    def wait_for_one(self):
        before = len(self.opens)
        self.reap()
        if len(self.opens) == before:
            time.sleep(RETRY_SECONDS / 4)

    def drain(self, opens):
        """Returns once these requests are answered; what would run without an end is interrupted."""
        opens = list(opens)
        while any(each in self.opens for each in opens):
            for session in self.sessions:
                self.end_endless(session)
            self.wait_for_one()

    def take(self, each):
        self.opens.remove(each)
        if each.order:
            each.order.until = time.monotonic()
        try:
            result = each.pending.result(1)
        except ConnectionLost:
            if each.cell and each.what == "cells":
                self.on_lost_answer(each)
            if each.copy:
                settle(self, [each.copy])  # made or not: closed, if it is there
        except RpcError as problem:
            self.on_refusal(each, problem)
        else:
            if each.cell:
                self.on_result(each, result)
            if each.on_answer:
                each.on_answer(result)

    def on_lost_answer(self, each):
        if each.client.notifications("cell.accepted", cell=each.cell.id):
            each.cell.is_accepted = True
        elif not each.cell.is_accepted:
            each.cell.is_uncertain = True

    def on_result(self, each, result):
        if result["final"]:
            self.ledger.take_final(each.session, each.cell, result)
        elif each.was_final:
            self.ledger.violate(f"cell {each.cell.id} was {each.cell.final.status} and is {result['status']} now")
        else:
            each.cell.is_accepted, each.cell.refused = True, None

    def on_refusal(self, each, problem):
        self.ledger.count(f"refused {problem.code}")
        cell = each.cell
        if each.copy:
            self.ledger.forget(each.copy)
        if cell and each.what == "cells" and problem.code in REFUSALS:
            if not cell.is_sent_again and each.client.notifications("cell.accepted", cell=cell.id):
                self.ledger.violate(f"cell {cell.id} was accepted and then refused: {problem}")
            elif not cell.is_accepted and not cell.is_uncertain:
                cell.refused = problem.code
            return
        if problem.code == SHUTTING_DOWN or problem.code in each.codes:
            return
        if problem.code == NOT_FOUND and cell and not each.was_accepted:
            return
        self.ledger.violate(f"{each.what} of session {each.session.serial} ({cell and cell.id}): {problem}")
