# SPDX-License-Identifier: Apache-2.0
"""Measures how many stacks reach their outermost frame.

  completeness.py PREFIX DUMP

DUMP is the output of batch_dump. Prints figures as `PREFIXfigure value unit`. Only samples with
user frames are counted:

  all_uncut_pct     share of stacks that are not cut, of all processes
  uncut_pct         the same, of use_executables
  complete_pct      share of stacks of use_executables that start in main() or a thread: not cut,
                    outermost frame in the program, the C library or the dynamic linker, and with the
                    program's callers of generated functions
  uncut_pct.NAME    share of stacks that are not cut, of each other program with at least 200 samples
"""
import collections
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live_check"))
from stacks import OurStacks  # noqa: E402

PROGRAM = "use_executables"
OUTERMOST = re.compile(r"^(use_executables|libc\.so\.6|libc-.*|ld-linux.*)$")
MADE = re.compile(r"^[0-9]+\.so$")
# work() and run()
LEAST_CALLERS = 2
LEAST_SAMPLES = 200


class Files:
    """Stands for elf_functions.Functions: only paths are used, so no file is read."""

    def file(self, path):
        return self

    def address_of_offset(self, offset):
        return offset


def reaches_its_origin(stack):
    files = [os.path.basename(path) for path, _ in stack.frames]
    if stack.cut or not OUTERMOST.match(files[-1]):
        return False
    return not MADE.match(files[0]) or files.count(PROGRAM) >= LEAST_CALLERS


def main():
    prefix, path = sys.argv[1:]
    counts, cuts = collections.Counter(), collections.Counter()
    by_program, uncut_by_program = collections.Counter(), collections.Counter()
    with open(path, encoding="utf-8") as dump:
        for stack in OurStacks(Files()).read(dump):
            if not stack.frames:
                counts["without user frames"] += stack.count
                if stack.cut:
                    cuts[stack.cut, "no frames"] += stack.count
                continue
            counts["all"] += stack.count
            by_program[stack.name] += stack.count
            uncut_by_program[stack.name] += 0 if stack.cut else stack.count
            counts["all uncut"] += 0 if stack.cut else stack.count
            if stack.cut:
                cuts[stack.cut, PROGRAM if stack.name == PROGRAM else "others"] += stack.count
            if stack.name == PROGRAM:
                counts["ours"] += stack.count
                counts["ours uncut"] += 0 if stack.cut else stack.count
                counts["ours true"] += stack.count if reaches_its_origin(stack) else 0
    for figure, part, whole in (("complete_pct", "ours true", "ours"), ("uncut_pct", "ours uncut", "ours"),
                                ("all_uncut_pct", "all uncut", "all")):
        if counts[whole]:
            print(f"{prefix}{figure} {100 * counts[part] / counts[whole]:.2f} % of {counts[whole]} samples")
    for name, samples in by_program.most_common():
        if samples >= LEAST_SAMPLES and name != PROGRAM:
            print(f"{prefix}uncut_pct.{name} {100 * uncut_by_program[name] / samples:.2f} % of {samples} samples")
    for (reason, whose), count in sorted(cuts.items()):
        print(f"{prefix}cut_{reason.replace('-', '_')} {count} samples of {whose}")


main()
