# Part of Windlass. See COPYRIGHT in the top-level directory.
"""Programs in sessions of their own, so that all of one can be ended: mpiexec with its processes, a script with its make."""

import os
import signal
import subprocess

GRACE_S = 5         # mpiexec gets this much to end its processes itself


def session(leader):
    """The processes of a session."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    # Behind the name, in parentheses: state, parent, group, session.
                    if int(file.read().rpartition(")")[2].split()[3]) == leader:
                        found.append(int(name))
            except (OSError, ValueError, IndexError):
                pass
    return found


def stop(process):
    """Ends the program: the group of its first process first, which knows the others; then what is left of its session."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(GRACE_S)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        pass
    for pid in session(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(command, timeout=None, **more):
    """subprocess.run in a session of its own, all of which is ended when it is out of time or an exception comes."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **more) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except BaseException:
            stop(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)
