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


def write(top, path, text):
    full = os.path.join(top, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as file:
        file.write(text)


def test_of(path):
    return os.path.join("test", os.path.dirname(path), "test_" + os.path.basename(path)[:-2])


def tidy(path, text, test=None, makefile=None, listed=None):
    """A project of this one source, and of its test and the lists of sources and tests."""
    test = test_of(path) if test is None else test
    with tempfile.TemporaryDirectory() as top:
        write(top, os.path.join("src", path), text)
        write(top, "src/Makefile.mk", "sources = \\\n    %D%/" + (path if listed is None else listed) + "\n")
        if test:
            write(top, test + ".c", HEAD)
        write(top, "test/Makefile.mk", "unit_tests = \\\n    " + (test if makefile is None else makefile) + "\n")
        run = subprocess.run([sys.executable, TIDY, top], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout


class Tidy(unittest.TestCase):
    def refuses(self, rule, path, text, **tests):
        status, out = tidy(path, text, **tests)
        self.assertEqual(status, 1, out)
        self.assertIn(rule + ":", out)

    def accepts(self, path, text, **tests):
        status, out = tidy(path, text, **tests)
        self.assertEqual(status, 0, out)

    def test_good(self):
        self.accepts("mpid/rma/x.c", HEAD + "#include <string.h>\nstatic const int limit = 3;\nint f(void)\n{\n"
                     "    return limit;\n}\n")

    def test_layers(self):
        self.refuses("layers", "base/x.c", HEAD + '#include "mpid/rma/win.h"\n')
        self.refuses("layers", "mpid/rma/x.c", HEAD + '#include "netmod/ucx/ucx_impl.h"\n')
        self.refuses("layers", "mpid/rma/x.c", HEAD + '#include "mpid/coll/coll.h"\n')
        self.refuses("layers", "mpid/coll/x.c", HEAD + '#include "mpid/rma/win.h"\n')
        self.accepts("mpid/rma/x.c", HEAD + '#include "mpid/proc/proc.h"\n')
        self.refuses("layers", "mpid/rma/x.c", HEAD + '#include "mpid/proc/bounce.h"\n')
        self.accepts("mpid/adi/x.c", HEAD + '#include "mpidimpl.h"\n#include "wdl_adi.h"\n#include "mpid/rma/win.h"\n')
        self.refuses("layers", "mpid/adi/x.c", HEAD + '#include "mpid/rma/win_impl.h"\n')

    def test_names(self):
        self.refuses("names", "mpid/rma/x.c", HEAD + "int f(void)\n{\n    return MPI_SUCCESS;\n}\n")
        self.refuses("names", "mpid/adi/x.c", HEAD + "int f(void)\n{\n    return ucp_init();\n}\n")
        self.accepts("mpid/rma/x.c", HEAD + "/* MPI_Put comes here, over ucp_put_nbx */\n")

    def test_waiting(self):
        self.refuses("waiting", "mpid/proc/x.c", HEAD + "void f(void)\n{\n    sched_yield();\n}\n")
        self.refuses("waiting", "mpid/rma/x.c", HEAD + "static int counter;\n")
        self.accepts("netmod/ucx/x.c", HEAD + "void f(void)\n{\n    poll(0, 0, 0);\n}\n", test="test/netmod/test_ucx")
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

    def test_tests(self):
        source = HEAD + "int f(void);\n"
        for folder in ("base", "host", "netmod/sim", "mpid/proc", "mpid/coll", "mpid/rma"):
            self.accepts(folder + "/x.c", source)
            self.refuses("tests", folder + "/x.c", source, test="")
            self.refuses("tests", folder + "/x.c", source, test="test/test_x")
            self.refuses("tests", folder + "/x.c", source, makefile="")
            self.refuses("tests", folder + "/x.c", source, makefile=test_of(folder + "/x.c") + "y")
            self.accepts(folder + "/x.h", source, test="")
        self.accepts("netmod/other/x.c", source, test="test/netmod/test_other")
        self.refuses("tests", "netmod/other/x.c", source)
        self.accepts("mpid/coll/levels_x.c", source, test="test/mpid/coll/test_levels")
        self.refuses("tests", "mpid/coll/levels_x.c", source)
        self.accepts("mpid/adi/x.c", source, test="")

    def test_listed(self):
        source = HEAD + "int f(void);\n"
        for path in ("base/x.c", "mpid/coll/x.h", "mpid/adi/x.h"):
            self.accepts(path, source)
            self.refuses("listed", path, source, listed="")
            self.refuses("listed", path, source, listed=path[1:])

    def test_documents(self):
        for name, text, fault in (("README.md", "x" * 128 + "\n|" + "x" * 200 + "\n", ""),
                                  ("CHANGES", "x" * 129 + "\n", "CHANGES:1: documents: 129 columns"),
                                  ("a/b.md", "\nx \n", "a/b.md:2: documents: tab or trailing blank"),
                                  ("a/b.md", "[c](c.md), [here](b.md#d), [web](https://e)\n",
                                   "a/b.md:1: documents: there is no c.md"),
                                  ("_build/b.md", "x \n", "")):
            with tempfile.TemporaryDirectory() as top:
                write(top, name, text)
                os.makedirs(os.path.join(top, "src"))
                run = subprocess.run([sys.executable, TIDY, top], capture_output=True, text=True, check=False)
            self.assertEqual(run.stdout.split("\n")[:-2], [fault] if fault else [], name)

    def test_what_is_no_project_is_refused(self):
        for word, said in (("/nonexistent", "/nonexistent has no folder src"), ("--nonsense", "--nonsense")):
            run = subprocess.run([sys.executable, TIDY, word], capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertIn(said, run.stderr)
        run = subprocess.run([sys.executable, TIDY, "--help"], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0)
        self.assertIn("layers     who may include whom", run.stdout)

    def test_this_project(self):
        run = subprocess.run([sys.executable, TIDY], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout)


if __name__ == "__main__":
    unittest.main()
