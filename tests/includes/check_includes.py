"""Checks the shape of the source tree: includes point downwards only, and no file is longer than 400 lines.

usage: check_includes.py ROOT

In the layers a quoted include is a path from the root. A file may include its own layer and those below it; the public headers of
include/holdfast belong to front, tests to nobody: they may include all. Ends with 1 and one line per fault.
"""

import os
import re
import sys

# From the bottom up. bin/kernel is the program as data: anybody may embed it.
LAYERS = ["bin/kernel", "storage", "actors/base", "actors/link", "actors/env", "actors/core", "actors/front", "bin"]
LINES_MOST = 400
SOURCES = (".hpp", ".cpp", ".py", ".c", ".h", ".cmake", ".sh")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Where CAF may be seen: the layers that hold actors. storage stands alone.
NO_CAF = ["storage", "include"]


def layer_of(path):
    """The layer's place from the bottom, or None for what is in no layer."""
    for place, layer in enumerate(LAYERS):
        if path.startswith(layer + "/"):
            return place
    if path.startswith("include/") or path.startswith("holdfast/"):
        return LAYERS.index("actors/front")
    return None


def faults_of(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as source:
        lines = source.read().splitlines()
    if len(lines) > LINES_MOST:
        yield f"{path}: {len(lines)} lines, at most {LINES_MOST}; split it by responsibility"
    if not path.endswith((".hpp", ".cpp", ".h", ".c")):
        return
    own = layer_of(path)
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        kind, target = found.groups()
        if target.startswith("caf/") and path.split("/")[0] in NO_CAF:
            yield f"{path}:{number}: includes {target}; CAF does not belong into {path.split('/')[0]}"
        theirs = layer_of(target)
        if own is not None and target.startswith("tests/"):
            yield f"{path}:{number}: includes {target}; tests are not to be used by what they test"
        elif own is not None and theirs is not None and theirs > own:
            yield f"{path}:{number}: includes {target}, which is above {LAYERS[own]}; let the layer above hand it in"
        elif own is not None and kind == '"' and "/" not in target:
            yield f'{path}:{number}: includes "{target}"; write its path from the root'


def sources_of(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "build")) and name != "__pycache__")
        for name in sorted(files):
            path = os.path.relpath(os.path.join(folder, name), root)
            if name.endswith(SOURCES) or path == "dev":
                yield path


def main():
    root = sys.argv[1]
    paths = list(sources_of(root))
    faults = [fault for path in paths for fault in faults_of(root, path)]
    print("\n".join(faults + [f"{len(paths)} files, {len(faults)} faults"]))
    return 1 if faults or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
