"""A blocking call on a thread of its own, so that a test can act while it waits."""

import threading


class Background:
    """Collects what `function` returns on a thread of its own; `result` waits for it and re-raises its exception."""

    def __init__(self, function, *args, **kwargs):
        self._value, self._problem = None, None

        def work():
            try:
                self._value = function(*args, **kwargs)
            except BaseException as problem:  # handed to the thread that asks
                self._problem = problem

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def result(self, seconds=30.0):
        self._thread.join(seconds)
        assert not self._thread.is_alive(), f"not done after {seconds:g} s"
        if self._problem:
            raise self._problem
        return self._value
