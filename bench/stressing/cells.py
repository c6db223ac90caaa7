"""The kinds of cells: their code, what each may end as when nobody disturbs it, and with which limits it is sent.

Every cell begins with `touch`: it counts in the namespace and appends one line to the effects file. A namespace is known by its `life`,
the id of the cell that found it empty. One that a fork has copied notices by its `home` that it is in another session and begins a life
of its own that names the one it came from.
"""

from dataclasses import dataclass

TOOL_NAMES = ("read_file", "web_search", "write_file")
SLOTS = ((), ("read_file",), ("web_search",), ("read_file", "web_search"), ("write_file",))

# The counter moves before the line is written: an interrupt in between leaves a gap and never the same number twice.
TOUCH = '''\
import os, time
def touch(cell, here):
    names = globals()
    if 'life' not in names:
        names.update(life=cell, home=here, count=0, came='-')
    elif home != here:
        names.update(life=cell, home=here, count=0, came='%s|%s|%d' % (home, life, count))
    try:
        import tools
        found = '+'.join(name for name in {names} if hasattr(tools, name))
    except ImportError:
        found = ''
    names['count'] += 1
    line = ' '.join(['C', cell, home, life, str(count), came, found or '-', str(time.monotonic())])
    effects = os.open({path!r}, os.O_WRONLY | os.O_APPEND)
    os.write(effects, (line + '\\n').encode())
    os.close(effects)
    return '%s %d' % (life, count)
told = touch({cell!r}, {here!r})
'''

JOB = "run('sh', '-c', 'echo J {cell} >> {path}; exec sleep {seconds}').id and None"
# Cells beside it rebind the global.
AWAITS = "import asyncio\nasync def later(told):\n    await asyncio.sleep({seconds} * 2)\n    return told\nawait later(told)"
STUBBORN = "while True:\n    try:\n        time.sleep(30)\n    except BaseException:\n        pass"


@dataclass(frozen=True)
class Kind:
    """`body` follows the touch. `ends`: what it ends as by itself. `weight`: how often. `prints`: bytes of its output."""

    name: str
    body: str
    ends: tuple
    weight: int
    params: tuple = ()
    prints: int = 0
    ends_kernel: bool = False  # and so the namespace, as soon as it runs
    is_endless: bool = False  # until it is interrupted


KINDS = (
    Kind("plain", "told", ("ok",), 40),
    Kind("prints", "for n in range(200): print('%08d' % n, flush=n % 50 == 0)\ntold", ("ok",), 8, prints=1800),
    Kind("sleeps", "time.sleep({seconds})\ntold", ("ok",), 12),
    Kind("awaits", AWAITS, ("ok",), 10,
         (("background_after_ms", 10),)),
    Kind("raises", "raise ValueError(told)", ("error",), 4),
    Kind("exits", "raise SystemExit(7)", ("exit",), 3),
    Kind("dies", "print('before', flush=True)\nos._exit(3)", ("lost",), 1, ends_kernel=True),
    Kind("slow", "time.sleep(30)\ntold", ("timeout",), 2, (("timeout_ms", 150),)),
    Kind("stubborn", STUBBORN, ("timeout",), 1, (("timeout_ms", 150),), ends_kernel=True),
    Kind("endless", "time.sleep(60)\ntold", ("timeout",), 2, is_endless=True),
    Kind("job", JOB + "\ntold", ("ok",), 3),
)
WEIGHTS = tuple(kind.weight for kind in KINDS)


def slot_name(slot):
    return "+".join(slot) or "-"


def code_of(kind, cell, here, path, seconds):
    body = kind.body.replace("{cell}", cell).replace("{path}", str(path)).replace("{seconds}", "%.3f" % seconds)
    return TOUCH.replace("{names}", repr(TOOL_NAMES)).replace("{path!r}", repr(str(path))).replace(
        "{cell!r}", repr(cell)).replace("{here!r}", repr(here)) + body
