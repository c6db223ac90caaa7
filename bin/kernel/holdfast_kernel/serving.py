"""What a kernel does on request, and by itself at the end of its grace."""

from . import cloning, limits, restoring, saving, variables
from .namespace import with_builtins
from .requests import Refused, Request, text_field, whole_number_field


def register(kernel, namespace, context, spec, log, where):
    """`context`: that of all cells. `where(path)`: where that lies now, if the home was moved since the spawn."""
    def between_cells(what, act):
        kernel.requests.serve(what, lambda message: with_builtins(lambda: act(message)), True)

    between_cells('variables', lambda message: variables.rows_of(
        namespace, whole_number_field(message, 'after', 0), whole_number_field(message, 'limit', limits.VARIABLES)))
    between_cells('snapshot', lambda message: saving.save(namespace, text_field(message, 'path')))
    between_cells('restore', lambda message: restoring.restore(namespace, text_field(message, 'path')))
    between_cells('fork', lambda message: cloning.clone(
        kernel, dict(spec, nursery=where(spec['nursery'])), namespace, context, log, message))
    state = spec.get('state')
    if state is not None:
        kernel.last_request = Request('', {'what': 'the last save'}, lambda _message: with_builtins(
            lambda: _save_last(namespace, where(state), log)))


def _save_last(namespace, state, log):
    try:
        saved = saving.save(namespace, state)
    except Refused as refusal:
        log.write('namespace-not-saved %s' % refusal)
    else:
        log.write('namespace-saved %d names, %d skipped' % (len(saved['names']) + saved['more_names'], len(saved['skipped']) + saved['more_skipped']))
