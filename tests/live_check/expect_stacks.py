# SPDX-License-Identifier: Apache-2.0
"""Checks the stacks of a program with known stacks.

  expect_stacks.py DUMP PROGRAM PID --stacks REGEX --leaf NAME [--leaf NAME --share PERCENT] [--least N]
                   [--whole PERCENT] [--end FUNCTION] [--cut REASON]

DUMP is the output of batch_dump, PROGRAM the path of the executable, PID its first process; its
descendants are included. A stack is written as its functions, leaf first, separated by semicolons:
functions of the program by name ("?" for its procedure linkage table, which has no symbols), all
others by file ("libc"). N equal names in a row are written as "name*N". Kernel frames are skipped,
and so are uncut stacks without user frames, which may be at most one in a hundred. These conditions
must hold for at least 99.9 % (--whole) of the stacks, or for all but one:

  all stacks end at _start, or at FUNCTION if --end is given; with --cut, those of the leaves
  are cut for that reason, and none of them is complete;
  stacks with a leaf as innermost function match the regular expression.

With --share, the first leaf must have that share of the time of all leaves, within four standard
deviations and half a percentage point.
"""
import argparse
import collections
import itertools
import math
import os
import re
import sys

from elf_functions import ANONYMOUS, Functions
from family import children_of, family_of
from stacks import OurStacks


def label(functions, program, frame):
    path, address = frame
    if path == ANONYMOUS:
        return path
    file = functions.file(path)
    start = file.start_of(address)
    if os.path.realpath(path) != os.path.realpath(program):
        # The dynamic linker's entry point, before main() is called.
        return "_start" if start == file.start_of(file.entry or -1) else os.path.basename(path).split(".so")[0]
    # The compiler moves seldom executed parts of a function to NAME.cold.
    return file.names.get(start, "?").removesuffix(".cold")


def text_of(functions, program, stack):
    names = [label(functions, program, frame) for frame in stack.frames]
    runs = [(name, len(list(group))) for name, group in itertools.groupby(names)]
    # Repeated functions of a library are not counted, because their number depends on its version.
    return ";".join(f"{name}*{n}" if n > 1 and not name.startswith("lib") else name for name, n in runs)


def read(options):
    functions = Functions()
    reader = OurStacks(functions)
    with open(options.dump, encoding="utf-8") as dump:
        lines = dump.readlines()
    pids = family_of(options.pid, children_of(lines, []))
    name = os.path.basename(options.program)[:15]
    counts, cuts = collections.Counter(), collections.Counter()
    for stack in reader.read(lines):
        # Also compares the name, because another process may have had this pid before or have it
        # later.
        if stack.pid in pids and stack.name == name:
            text = text_of(functions, options.program, stack)
            counts[text] += stack.count
            if stack.cut:
                cuts[text, stack.cut] += stack.count
    return counts, cuts


def expect_share(what, least_pct, good, total, bad):
    """Prints and checks a share. @bad: failing stacks with their counts, for the message."""
    pct = 100.0 * good / total if total else 0.0
    print(f"{what}: {good} of {total} ({pct:.2f} %)")
    for text, count in sorted(bad.items(), key=lambda item: -item[1])[:6]:
        print(f"    {count} times {text[:400]}")
    # Of fewer than a thousand samples, one is more than a tenth of a percent.
    return total > 0 and (pct >= least_pct or total - good <= 1)


def expect_proportion(options, counts):
    by_leaf = {leaf: sum(count for text, count in counts.items() if text.split(";")[0] == leaf) for leaf in options.leaf}
    total = sum(by_leaf.values())
    share = 100.0 * by_leaf[options.leaf[0]] / max(total, 1)
    tolerance = 0.5 + 400.0 * math.sqrt(options.share / 100 * (1 - options.share / 100) / max(total, 1))
    print(f"share of {options.leaf[0]}: {share:.2f} % (expected {options.share} ± {tolerance:.2f})")
    return abs(share - options.share) <= tolerance


def check(options):
    counts, cuts = read(options)
    # An exiting thread releases its memory before it ends, so its last samples have no user frames.
    is_cut = {text for text, _ in cuts}
    without_memory = counts.pop("", 0) if "" not in is_cut else 0
    total = sum(counts.values())
    print(f"{total} samples (at least {options.least}), {without_memory} more of exiting threads")

    def as_it_should_end(text):
        if text.split(";")[0] not in options.leaf:
            # With --cut, other stacks may be cut for the same reason.
            return options.cut or text not in is_cut and text.endswith(("_start", options.end))
        if options.cut:
            return cuts[text, options.cut] == counts[text]
        return text.endswith(options.end) and text not in is_cut

    is_whole = {text: as_it_should_end(text) for text in counts}
    of_leaves = {text: count for text, count in counts.items() if text.split(";")[0] in options.leaf}
    pattern = re.compile(options.stacks)
    matching = sum(count for text, count in of_leaves.items() if pattern.fullmatch(text))
    results = [
        total >= options.least,
        without_memory <= total / 100,
        expect_share(f"end {'by ' + options.cut if options.cut else 'at ' + options.end}", options.whole, sum(n for text, n in counts.items() if is_whole[text]), total,
                     {text: n for text, n in counts.items() if not is_whole[text]}),
        expect_share(f"stacks of {' and '.join(options.leaf)} as expected", options.whole, matching,
                     sum(of_leaves.values()),
                     {text: count for text, count in of_leaves.items() if not pattern.fullmatch(text)}),
        options.share is None or expect_proportion(options, counts),
    ]
    return all(results)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dump")
    parser.add_argument("program")
    parser.add_argument("pid", type=int)
    parser.add_argument("--stacks", required=True)
    parser.add_argument("--leaf", action="append", required=True)
    parser.add_argument("--share", type=float)
    parser.add_argument("--least", type=int, default=1000)
    parser.add_argument("--whole", type=float, default=99.9)
    parser.add_argument("--end", default="_start")
    parser.add_argument("--cut")
    sys.exit(0 if check(parser.parse_args()) else 1)


if __name__ == "__main__":
    main()
