"""Lines of `!command` and `%magic` in a cell: known ones become calls, the others an error that says what to write instead.

Line for line, so that the numbers of lines stay; not inside of strings, brackets and continued lines. Pure.
"""

import re

CALL = '__holdfast_shell__'  # in builtins: see shell.py
_MAYBE = re.compile(r'^[ \t]*[!%?]|=[ \t]*!|\?[ \t]*$', re.MULTILINE)
_LINE = re.compile(r'([ \t]*)(?:([A-Za-z_]\w*)[ \t]*=[ \t]*(?=!))?(!|%%|%)(.*)$')
_HELP = re.compile(r'[ \t]*\?{0,2}([\w.]+)\?{0,2}[ \t]*$')
_TOKEN = re.compile(r'"""|\'\'\'|["\']|#|[()\[\]{}]|\\.|\\$')
_IGNORED = ('matplotlib',)
_INSTEAD = {
    'time': 'import time; start = time.perf_counter(); ...; print(time.perf_counter() - start)',
    'timeit': 'import timeit; timeit.timeit(lambda: ..., number=1000)',
    'prun': 'import cProfile; cProfile.run("...")',
    'cd': 'import os; os.chdir("DIR")', 'pwd': 'import os; os.getcwd()', 'ls': '!ls', 'cat': '!cat FILE', 'mkdir': '!mkdir DIR',
    'env': 'import os; os.environ["NAME"] = "VALUE"', 'set_env': 'import os; os.environ["NAME"] = "VALUE"',
    'run': '!python FILE, or: import runpy; globals().update(runpy.run_path("FILE"))', 'load': 'print(open("FILE").read())',
    'load_ext': 'nothing: leave it out', 'autoreload': 'import importlib; importlib.reload(MODULE)', 'reload_ext': 'nothing: leave it out',
    'config': 'nothing: leave it out', 'conda': '!conda install -y PACKAGE', 'mamba': '!mamba install -y PACKAGE',
    'bash': '!COMMAND on each line, or: import subprocess; subprocess.run(["bash", "-c", "..."])',
    'sh': '!COMMAND on each line, or: import subprocess; subprocess.run(["sh", "-c", "..."])',
    'writefile': 'open("FILE", "w").write("""...""")', 'file': 'open("FILE", "w").write("""...""")',
    'capture': 'import contextlib, io; with contextlib.redirect_stdout(io.StringIO()) as out: ...',
    'html': 'display({"text/html": "..."}, raw=True)', 'HTML': 'display({"text/html": "..."}, raw=True)',
    'markdown': 'display({"text/markdown": "..."}, raw=True)', 'latex': 'display({"text/latex": "..."}, raw=True)',
    'who': 'sorted(globals())', 'whos': 'sorted(globals())', 'reset': 'del NAME, or reset the session', 'system': '!COMMAND', 'sx': '!COMMAND',
    'debug': 'print() or a traceback: nobody can answer a debugger', 'pdb': 'print() or a traceback: nobody can answer a debugger'}


def may_have(source):
    return _MAYBE.search(source) is not None


def replaced(source, filename):
    """The source with its magic lines made Python; SyntaxError for one that is not known."""
    lines = source.split('\n')
    state = _Scanner()
    at = 0
    while at < len(lines):
        line = lines[at]
        if state.is_at_start():
            match = _LINE.match(line)
            if match is not None:
                first = at
                command = match.group(4)
                while command.endswith('\\') and at + 1 < len(lines):  # goes on in the next line
                    at += 1
                    command += '\n' + lines[at]
                    lines[at] = ''
                lines[first] = _call(match, command, filename, first + 1, line)
                at += 1
                continue
            _refuse_help(line, filename, at + 1)
        state.feed(line)
        at += 1
    return '\n'.join(lines)


def _call(match, command, filename, number, line):
    indent, name, sign = match.group(1), match.group(2), match.group(3)
    if sign == '!':
        command = command[1:] if command.startswith('!') else command  # `!!` is the same
        if name is not None:
            return '%s%s = %s(%r, True)' % (indent, name, CALL, command.strip())
        return '%s%s(%r)' % (indent, CALL, command.strip())
    word, _space, rest = command.strip().partition(' ')
    if sign == '%' and word == 'pip':
        return '%s%s(%r, False, True)' % (indent, CALL, rest.strip())
    if sign == '%' and word in _IGNORED:
        return indent + 'pass'
    instead = _INSTEAD.get(word, 'Python, or !COMMAND')
    raise SyntaxError('there is no %s%s here; write instead: %s' % (sign, word[:100], instead), (filename, number, len(indent) + 1, line))


def _refuse_help(line, filename, number):
    match = _HELP.match(line)
    if match is not None and '?' in line:
        name = match.group(1)
        raise SyntaxError('there is no ? here; write instead: help(%s)' % name, (filename, number, 1, line))


class _Scanner:
    """Where a line begins: at the start of a statement, or inside of a string, a bracket or a continued line."""

    def __init__(self):
        self._quote = ''  # what ends the present string
        self._depth = 0  # of open brackets
        self._continues = False  # the line before ended with a backslash

    def is_at_start(self):
        return not self._quote and self._depth == 0 and not self._continues

    def feed(self, line):
        self._continues = False
        for match in _TOKEN.finditer(line):
            token = match.group()
            if token == '\\':
                self._continues = True
            elif token[0] == '\\':
                continue  # an escaped character of a string
            elif self._quote:
                if token == self._quote or len(self._quote) == 1 and token == self._quote * 3:
                    self._quote = ''
            elif token == '#':
                break
            elif token in '([{':
                self._depth += 1
            elif token in ')]}':
                self._depth = max(0, self._depth - 1)
            else:
                self._quote = token
        if len(self._quote) == 1 and not self._continues:
            self._quote = ''  # it is not closed: the compiler will say so
