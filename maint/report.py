# Part of Windlass. See COPYRIGHT in the top-level directory.
"""Progress lines, logs of failures, and the sum at the end."""

import os
import re
import shutil
import threading
import time


class Report:
    def __init__(self, log_directory):
        self.log_directory = log_directory
        self.passed = 0
        self.failures = []
        self.start = time.monotonic()
        self.lock = threading.Lock()

    def begin(self):
        """Programs are about to be run: the logs of the last time go."""
        shutil.rmtree(self.log_directory, ignore_errors=True)

    def clock(self):
        seconds = int(time.monotonic() - self.start)
        return f"[{seconds // 60:2d}:{seconds % 60:02d}]"

    def note(self, text):
        """A line that is no result."""
        with self.lock:
            print(f"{self.clock()} {text}", flush=True)

    def log(self, name, text):
        """Keep `text`; returns where."""
        os.makedirs(self.log_directory, exist_ok=True)
        path = os.path.join(self.log_directory, re.sub(r"[^A-Za-z0-9_.=,-]+", "_", name)[:150] + ".log")
        with open(path, "a") as file:
            file.write(text)
        return path

    def result(self, name, ok, why="", output="", seconds=None, of=""):
        """One program has ended. `of` says how far the set-up is, such as 3/195."""
        time_text = "" if seconds is None else f" {seconds:.1f} s"
        with self.lock:
            if ok:
                self.passed += 1
                print(f"{self.clock()} {of} ok     {name}{time_text}", flush=True)
                return
            path = self.log(name, f"{name}\n{why}\n\n{output}\n")
            self.failures.append((name, why, path))
            print(f"{self.clock()} {of} FAILED {name}{time_text}: {why}", flush=True)
            for line in output.splitlines()[:10]:
                print(f"            {line[:200]}")
            print(f"            all of it: {path}", flush=True)

    def end(self):
        """Print the failures again and the sum; returns the exit status."""
        if self.failures:
            print("\nFailed:")
            for name, why, path in self.failures:
                print(f"  {name}: {why}\n      {path}")
        print(f"\n{self.clock()}")
        print(f"{self.passed} passed, {len(self.failures)} failed", flush=True)
        return 0 if not self.failures and self.passed else 1
