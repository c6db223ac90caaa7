"""Entry of a nursery: `python nursery.py`, its configuration as one JSON object on standard input. See holdfast_kernel/nursery_main.py."""

import os
import sys

if sys.version_info < (3, 8):  # said before anything fails for it; this file is read by any python
    sys.exit('it is Python %d.%d, wanted 3.8 or newer' % sys.version_info[:2])

_umask = os.umask(0o077)  # bytecode caches land in the home, which is private; kernels get the user's back
_here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, _here)

# The library first, then the holes of the heap, then the program: its objects, which every kernel uses, lie side by side.
from holdfast_kernel import own_names  # noqa: E402

own_names.install()

from holdfast_kernel import heap  # noqa: E402
from holdfast_kernel import library  # noqa: E402,F401

heap.fill_holes()

from holdfast_kernel import nursery_main  # noqa: E402

own_names.uninstall()

# Cells must not import from here, nor find `nursery`.
sys.path[:] = [path for path in sys.path if not path or os.path.abspath(path) != _here]

if __name__ == '__main__':
    nursery_main.main(_umask)
