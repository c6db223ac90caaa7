"""The descriptors that a kernel lives on: looked at after each cell, rebuilt when a cell closed them.

The caller ends the kernel, naming the cause, when `check` raises OSError.
"""

import faulthandler
import os
from errno import EMFILE

from . import log, places, sockets, system
from .output import STDERR, STDOUT


class Descriptors:
    __slots__ = ('_directory', 'directory_fd', '_log', '_output', '_directory_identity', '_log_identity')

    def __init__(self, directory, directory_fd, own_log, output):
        self._directory = directory
        self.directory_fd = directory_fd
        self._log = own_log
        self._output = output
        self._directory_identity = system.identity(directory_fd)
        self._log_identity = system.identity(own_log.fd)

    def check(self, link, thread):
        """Rebuilds what is lost; a limit below what that takes is raised, if a cell has left it to be raised."""
        try:
            self._rebuild(link, thread)
        except OSError as error:
            if error.errno != EMFILE or not system.raise_descriptor_limit():
                raise
            self._rebuild(link, thread)

    def abandon(self, pipe_fds):
        """In a child of a cell's fork: closes what is the kernel's."""
        for fd in pipe_fds + [self.directory_fd]:
            try:
                os.close(fd)
            except OSError:
                pass

    def put_streams_right(self):
        """Before a cell: what it writes to descriptors 1 and 2 is not lost to where an earlier one has left them to point."""
        for stream in self._output.misled():
            try:
                self._renew_pipe(stream)
            except OSError:
                pass  # no descriptors are left: the check after the cell says so, if it is so still

    def _rebuild(self, link, thread):
        """Oldest need first: each step may use what the ones before it restored."""
        if system.identity(0) is None:
            _put(os.open(os.devnull, os.O_RDONLY), 0)
        for stream in (STDOUT, STDERR):
            if system.identity(stream) is None or not self._output.is_whole(stream):
                self._renew_pipe(stream)
        if system.identity(self._log.fd) != self._log_identity:
            self._log.fd = system.place(log.open_log(self._directory, 'kernel.log'))
            self._log_identity = system.identity(self._log.fd)
            faulthandler.enable(file=self._log.fd)
            self._log.write('descriptors-lost log: rebuilt')
        if system.identity(self.directory_fd) != self._directory_identity:
            self.directory_fd = system.place(os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            self._directory_identity = system.identity(self.directory_fd)
            self._log.write('descriptors-lost run directory: rebuilt')
        if not thread.is_whole():
            thread.rebuild()
            self._log.write('descriptors-lost timer or wake: rebuilt')
        if not link.attached_is_own():
            link.drop('a cell closed its descriptor')
        if not link.listener_is_own():
            link.replace_listener(system.place_socket(sockets.listen(self.where(self._directory), 'kernel.sock', replace=True).detach()))
            self._log.write('descriptors-lost listening socket: rebuilt')

    def _renew_pipe(self, stream):
        """A new pipe for a stream; a writer that still has the old one is not heard any more."""
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        reader = system.place(reader)
        if system.identity(stream) is None:
            _put(writer, stream)
        else:
            os.dup2(writer, stream)
            os.close(writer)
        self._output.use_pipe(stream, reader)
        self._log.write('descriptors-lost pipe of descriptor %d: rebuilt' % stream)

    def open_file(self, name, flags):
        """A descriptor of a file of the run directory, made private if it is made."""
        path, directory_fd = self._place(name)
        return os.open(path, flags | os.O_CLOEXEC, 0o600, dir_fd=directory_fd)

    def make_directory(self, name):
        path, directory_fd = self._place(name)
        try:
            os.mkdir(path, 0o700, dir_fd=directory_fd)
        except FileExistsError:
            pass

    def remove_file(self, name):
        path, directory_fd = self._place(name)
        try:
            os.unlink(path, dir_fd=directory_fd)
        except OSError:
            pass

    def _place(self, name):
        """(path, directory descriptor or None): by the descriptor, as the directory may have been moved, unless a cell closed it."""
        if system.identity(self.directory_fd) == self._directory_identity:
            return name, self.directory_fd
        return '%s/%s' % (self._directory, name), None

    def where(self, path):
        """Where that is now which lay at `path`, anywhere in the home, when this kernel was spawned."""
        if system.identity(self.directory_fd) != self._directory_identity:
            return path  # a cell closed the descriptor: looked for where it was
        return places.path_now(path, self._directory, self.directory_fd)

    def listen_again(self, link):
        """Makes the socket's file again if it was removed. Between cells only: for a moment it sets the process's umask."""
        if system.identity(self.directory_fd) != self._directory_identity:
            return
        listener = sockets.made_again(self.directory_fd, 'kernel.sock')
        if listener is not None:
            link.replace_listener(system.place_socket(listener.detach()))
            self._log.write('socket-removed kernel.sock: made again')

    def directory_is_gone(self):
        """Whether the run directory was removed (a moved one was not)."""
        try:
            return os.fstat(self.directory_fd).st_nlink == 0
        except OSError:
            return not os.path.isdir(self._directory)


def _put(fd, number):
    """Makes an open descriptor have that standard number."""
    if fd == number:
        os.set_inheritable(fd, True)
        return
    os.dup2(fd, number)
    os.close(fd)
