"""Runs of a script that are forked from one process, for tests that kill one after the other.

To import what a run needs takes a second or two, most of which goes into a few modules without threads of their own:
one process imports those, and each run begins there. What has to hold whatever the hashes of strings are needs
processes of its own: here all runs have the same.
"""

import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
from pathlib import Path


class Forks:
    """Starts runs of ``script``, within a ``with`` block; what still runs at its end is killed.

    Args:
        script: What it imports at its beginning is not imported for it: name it in ``modules``.
        modules: To import before the forks. None may have threads of its own, as no thread survives a fork.
        environment: Variables of the runs, besides those of this process.
    """

    def __init__(self, script, *modules, environment=None):
        self._connection, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno()), str(script), *modules],
                env={**os.environ, **(environment or {})},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()
        self._process.wait()

    def start(self, *arguments):
        """A run with the arguments, as it would be with ``python script arguments``."""
        from_it, its_output = os.pipe()
        socket.send_fds(self._connection, [json.dumps([*map(str, arguments)]).encode()], [its_output])
        pid = int(self._connection.recv(100))
        os.close(its_output)
        return Forked(pid, self._connection, from_it)


class Forked:
    """A run that has begun.

    Attributes:
        stdout: What it writes, as text.
    """

    def __init__(self, pid, connection, from_it):
        self._pid = pid
        self._connection = connection
        self.stdout = os.fdopen(from_it)

    def kill(self):
        os.kill(self._pid, signal.SIGKILL)

    def communicate(self):
        """What else it writes, and its exit code once it has ended: minus the number of the signal that ended it."""
        with self.stdout:
            rest = self.stdout.read()
        self._connection.sendall(json.dumps(self._pid).encode())
        return rest, os.waitstatus_to_exitcode(int(self._connection.recv(100)))


def _serve(descriptor, script, *modules):
    for module in modules:
        importlib.import_module(module)
    connection = socket.socket(fileno=int(descriptor))
    running = set()
    while True:
        request, descriptors, _, _ = socket.recv_fds(connection, 100_000, 1)
        if not request:
            break
        if not descriptors:
            pid = json.loads(request)
            status = os.waitpid(pid, 0)[1]
            running.remove(pid)
            connection.sendall(str(status).encode())
            continue
        pid = os.fork()
        if pid == 0:
            connection.close()
            os.dup2(descriptors[0], sys.stdout.fileno())
            os.close(descriptors[0])
            sys.argv = [script, *json.loads(request)]
            sys.path[0] = str(Path(script).parent)
            runpy.run_path(script, run_name="__main__")
            return
        os.close(descriptors[0])
        running.add(pid)
        connection.sendall(str(pid).encode())
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
