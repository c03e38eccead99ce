# Part of Windlass. See COPYRIGHT in the top-level directory.
"""What runs at a time: everything that takes a core holds a token of one job server, which is GNU make's, too.

So no core is idle while one build is configured, or the last test of a set-up runs.
"""

import contextlib
import os
import select
import subprocess
import threading

import testlist


class Cores:
    def __init__(self, jobs):
        self.jobs = jobs
        self.ends = os.pipe()
        self.taking = threading.Lock()
        os.write(self.ends[1], b"+" * jobs)

    def one(self):
        return self.some(1)

    @contextlib.contextmanager
    def some(self, number):
        """Wait for so many tokens, at most `jobs`, and hold them."""
        tokens = b""
        with self.taking:       # else two that have a token each might wait for each other's
            while len(tokens) < number:
                select.select([self.ends[0]], [], [])
                with contextlib.suppress(BlockingIOError):      # make sets the pipe so, and another may have been faster
                    tokens += os.read(self.ends[0], number - len(tokens))
        try:
            yield
        finally:
            os.write(self.ends[1], tokens)

    def popen(self, command, directory, environment):
        """Start it, as the holder of a token; if it is make, it takes more of them by itself."""
        environment = {**environment, "MAKEFLAGS": f" -j --jobserver-auth={self.ends[0]},{self.ends[1]}"}
        environment.pop("MAKELEVEL", None)
        process = subprocess.Popen(command, cwd=directory, env=environment, pass_fds=self.ends,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace", start_new_session=True)
        testlist.running.add(process.pid)
        return process

    def run(self, command, directory, environment):
        """Run it to its end, with a token; (status, output)."""
        with self.one():
            process = self.popen(command, directory, environment)
            output = process.communicate()[0]
            testlist.running.discard(process.pid)
        return process.returncode, output
