#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests check_tree with trees that have one fault each, and with trees without faults."""

import pathlib
import shutil
import tempfile
import unittest

import check_tree

C = "/* SPDX-License-Identifier: Apache-2.0 */\n"
H = C + "#pragma once\n"

SOUND = {
    "common/base.h": H,
    "common/file.h": H + '#include "common/base.h"\n',
    "common/file.c": C + '#include "common/file.h"\n/* no sprintf() here */ const char *text = "atoi(x)";\n',
    "tests/unit/common/test_file.c": C + '#include "common/file.h"\n',
    "symbolizer/query/profile.c": C + '#include "symbolizer/store/store_view.h"\n',
    "symbolizer/store/store_view.h": H + '#include "common/base.h"\n',
    "symbolizer/store/store.h": H + '#include "common/base.h"\n',
    "agent/wire/batch_encoder.c": C + '#include "agent/sample/window.h"\n#include "proto/batch.pb-c.h"\n',
    "README.md": "see http://127.0.0.1:20416/ and https://hearth.example.com/\n",
}

# (added or replaced files, expected words of the finding)
FAULTS = [
    ({"scratch/notes.md": "x\n"}, "does not belong at the top level"),
    ({"common/file.h": H + '#include "agent/config.h"\n'}, "'common' may not include 'agent'"),
    ({"agent/config.h": H + '#include "symbolizer/store/store.h"\n'}, "'agent' may not include 'symbolizer/store'"),
    ({"symbolizer/query/profile.c": C + '#include "symbolizer/store/store.h"\n'},
     "'symbolizer/query' may not include 'symbolizer/store'"),
    ({"symbolizer/store/store.h": H + '#include "symbolizer/symbols/resolver.h"\n'},
     "'symbolizer/store' may not include 'symbolizer/symbols'"),
    ({"agent/cpu/cpu_list.c": C + '#include "agent/sample/window.h"\n'}, "'agent/cpu' may not include"),
    ({"bpf/abi/record.h": H + '#include "common/base.h"\n'}, "'bpf/abi' may not include 'common'"),
    ({"symbolizer/http/router.c": C + '#include "symbolizer/query/profile.h"\n'}, "'symbolizer/http' may not include"),
    ({"symbolizer/store/store.c": C + '#include "store.h"\n'}, "include from the top"),
    ({"symbolizer/store/store.c": C + '#include "../../common/base.h"\n'}, "include from the top"),
    ({"plugins/x.c": C}, "does not belong at the top level"),
    ({"symbolizer/store/store.c": "int x;\n"}, "no SPDX line"),
    ({"deploy/start.sh": "#!/bin/sh\necho hello\n"}, "no SPDX line"),
    ({"common/base.h": C}, "no #pragma once"),
    ({"common/file.c": C + "void f(char *p) { sprintf(p, \"x\"); }\n"}, "sprintf() is banned"),
    ({"common/file.c": C + "int f(const char *p)\n{\n\treturn atoi(p);\n}\n"}, "atoi() is banned"),
    ({"agent/wire/run.c": C + "void f(void) { system(\"ls\"); }\n"}, "system() is banned"),
    ({"common/file.c": C + "/* TO" "DO: later */\n"}, "unfinished"),
    ({"docs/a.md": "FIX" "ME\n"}, "unfinished"),
    ({"docs/a.md": "fetch http" "://mirror.of.somebody.net/debian\n"}, "names the host 'mirror.of.somebody.net'"),
    ({"docs/a.md": "see /ho" "me/somebody/notes\n"}, "names a path of one machine"),
    ({"docs/a.md": "read `common/flie.h` first\n"}, "names 'common/flie.h', which does not exist"),
    ({"common/file.c": C + "/* see symbolizer/store/old.h */\n"}, "names 'symbolizer/store/old.h'"),
    ({"common/file.c": C + "int x; \n"}, "blanks at the end"),
    ({"common/file.c": C + "        int x;\n"}, "indented with blanks"),
    ({"common/file.c": C + "/* " + "x" * 95 + " */\n"}, "longer than 100 columns"),
    ({"common/file.c": C + "int x;"}, "must end with one line end"),
    ({"common/clock.c": C}, "has no test: 'tests/unit/common/test_clock.c'"),
    ({"symbolizer/api/answer.c": C + 'const char *name = "X-Hearth-New";\n', "docs/http-api.md": "`X-Hearth-Newer`\n"},
     "docs/http-api.md lacks the header X-Hearth-New"),
    ({"agent/paging/x.c": C + '#include "agent/unwind/x86_code/gap_rows.h"\n'},
     "of 'agent/unwind/x86_code' only 'agent/unwind/x86_code/x86_code.h' may be included"),
    ({"common/elf/elf_file.c": C}, "has no test: 'tests/unit/common/elf/test_elf_file.c'"),
]


class CheckTree(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="check-tree-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.write(SOUND)

    def write(self, files):
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def empty(self):
        for path in self.root.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def findings(self):
        return [str(finding) for finding in check_tree.check(self.root)]

    def test_a_tree_without_faults_has_no_findings(self):
        self.assertEqual(self.findings(), [])

    def test_each_fault_is_found_in_its_file(self):
        for files, expected in FAULTS:
            with self.subTest(expected=expected, files=list(files)):
                self.empty()
                self.write(SOUND)
                self.write(files)
                found = self.findings()
                hits = [line for line in found if expected in line and line.startswith(next(iter(files)).split("/")[0])]
                self.assertTrue(hits, f"expected '{expected}' among {found}")

    def test_a_finding_names_its_line(self):
        self.write({"common/file.c": C + "\n\nint f(const char *p)\n{\n\treturn atoi(p);\n}\n"})
        self.assertEqual(self.findings(), ["common/file.c:6: atoi() is banned: no errors"])

    def test_tables_without_clang_format_may_be_wider(self):
        wide = "/* " + "x" * 95 + " */\n"
        table = "/* clang-format off */\n" + wide + "/* clang-format on */\n"
        self.write({"common/file.c": C + table + wide})
        self.assertEqual(self.findings(), ["common/file.c:5: longer than 100 columns"])

    def test_a_file_of_a_module_is_covered_by_the_modules_test(self):
        self.write({"common/file_reader.c": C})
        self.assertEqual(self.findings(), [])

    def test_functions_over_several_lines_are_measured(self):
        source = "static int long_one(int a,\n\t\t    int b)\n{\n" + "\ta++;\n" * 70 + "}\n"
        self.assertEqual(list(check_tree.function_lengths(source)), [("long_one", 3, 72)])


if __name__ == "__main__":
    unittest.main()
