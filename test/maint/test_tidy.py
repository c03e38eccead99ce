#!/usr/bin/env python3
# Part of Windlass. See COPYRIGHT in the top-level directory.
"""tidy on small bad examples: each rule must speak, and stay silent on a good file."""

import os
import subprocess
import sys
import tempfile
import unittest

TIDY = os.path.join(os.environ.get("WDL_SRCDIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")),
                    "maint", "tidy")
HEAD = "/* Part of Windlass. See COPYRIGHT in the top-level directory. */\n"


def tidy(path, text):
    with tempfile.TemporaryDirectory() as top:
        full = os.path.join(top, "src", path)
        os.makedirs(os.path.dirname(full))
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        run = subprocess.run([sys.executable, TIDY, top], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout


class Tidy(unittest.TestCase):
    def refuses(self, rule, path, text):
        status, out = tidy(path, text)
        self.assertEqual(status, 1, out)
        self.assertIn(rule + ":", out)

    def accepts(self, path, text):
        status, out = tidy(path, text)
        self.assertEqual(status, 0, out)

    def test_good(self):
        self.accepts("mpid/rma/x.c", HEAD + "#include <string.h>\nstatic const int limit = 3;\nint f(void)\n{\n"
                     "    return limit;\n}\n")

    def test_layers(self):
        self.refuses("layers", "base/x.c", HEAD + '#include "mpid/rma/win.h"\n')
        self.refuses("layers", "mpid/rma/x.c", HEAD + '#include "netmod/ucx/ucx_impl.h"\n')
        self.accepts("mpid/rma/x.c", HEAD + '#include "mpid/proc/proc.h"\n')

    def test_names(self):
        self.refuses("names", "mpid/rma/x.c", HEAD + "int f(void)\n{\n    return MPI_SUCCESS;\n}\n")
        self.refuses("names", "mpid/adi/x.c", HEAD + "int f(void)\n{\n    return ucp_init();\n}\n")
        self.accepts("mpid/rma/x.c", HEAD + "/* MPI_Put comes here, over ucp_put_nbx */\n")

    def test_waiting(self):
        self.refuses("waiting", "mpid/proc/x.c", HEAD + "void f(void)\n{\n    sched_yield();\n}\n")
        self.refuses("waiting", "mpid/rma/x.c", HEAD + "static int counter;\n")
        self.accepts("netmod/ucx/x.c", HEAD + "void f(void)\n{\n    poll(0, 0, 0);\n}\n")
        self.accepts("mpid/proc/x.c", HEAD + "void f(struct n *n)\n{\n    n->ops->poll(n);\n}\n")

    def test_states(self):
        self.refuses("states", "mpid/rma/x.c", HEAD + "void f(struct t *t)\n{\n    t->lock.state = 1;\n}\n")
        self.accepts("mpid/rma/lock.c", HEAD + "void f(struct t *t)\n{\n    t->state = 1;\n}\n")
        self.accepts("mpid/rma/x.c", HEAD + "int f(struct t *t)\n{\n    return t->lock.state == 1;\n}\n")

    def test_alone(self):
        self.refuses("alone", "base/x.h", HEAD + "size_t f(void);\n")
        self.accepts("base/x.h", HEAD + "#include <stddef.h>\nsize_t f(void);\n")

    def test_lines(self):
        self.refuses("lines", "base/x.c", "int x(void);\n")
        self.refuses("lines", "base/x.c", HEAD + "\tint x(void);\n")
        self.refuses("lines", "base/x.c", HEAD + "int x(void); \n")
        self.refuses("lines", "base/x.c", HEAD + "int x(void);")
        self.refuses("lines", "base/x.c", HEAD + "/* " + "x" * 95 + " */\n")
        self.accepts("base/x.c", HEAD + "/* " + "x" * 94 + " */\n")
        self.refuses("lines", "../test/base/x.c", HEAD + "/* " + "x" * 95 + " */\n")

    def test_this_project(self):
        run = subprocess.run([sys.executable, TIDY], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout)


if __name__ == "__main__":
    unittest.main()
