#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the stacks of our agent with those that perf sampled of the same program at the same
time.

  compare.py --name NAME --from NS --to NS --ours DUMP --perf SCRIPT --pids PID,... [--result FILE]

DUMP is the output of batch_dump, SCRIPT that of `perf script`. Prints the differences, and the
outermost frames of incomplete stacks, with the code there. Exits with 1 if there is a difference.

A stack is complete if it was not cut and if its outermost function is the first one according to
its call frame information or to the runtime that allocated the stack: _start, clone3,
runtime.goexit. Self shares are computed over all samples. Inclusive shares are computed over
complete stacks and over stacks that end in the start code of the C library. If perf has few of
these, each leaf function gets the same weight on both sides, so that failures of perf do not appear
as differences.
"""
import argparse
import collections
import json
import os
import subprocess
import sys

from elf_functions import ANONYMOUS, Functions
from stacks import OurStacks, PerfStacks

TOP = 10
TOLERANCE_POINTS = 2.0
LEAST_COMPLETE_PCT = 99.0
# Below this percentage, perf's comparable stacks are not representative of all samples.
PERF_COMPARED_PCT = 98.0
# A leaf is used only if most of its stacks from perf are comparable.
LEAST_STACKS_OF_A_LEAF = 3
LEAST_OF_A_LEAF = 0.8
# From this share of stacks with code without call frame information, perf's stacks are compared
# only up to that code.
MUCH_WITHOUT_FDE = 0.2
KERNEL = ("[kernel]", 0)

# Stacks of perf often end in these functions, one or two functions short of the outermost one. This
# does not depend on the program: such a stack is not complete, but it is compared, without these
# functions and without outermost functions.
STARTERS = ("__libc_start_call_main", "__libc_start_main_impl", "__libc_start_main", "start_thread")

# Outermost functions of stacks that a runtime allocates: those at which Go's traceback stops
# (topofstack()).
RUNTIME_ENDS = ("runtime.goexit", "runtime.mstart", "runtime.rt0_go", "runtime.mcall", "runtime.morestack",
                "runtime.asmcgocall")


class Side:
    """All stacks of one profiler, as counts of functions."""

    def __init__(self, functions):
        self.functions = functions
        self.samples = 0
        self.without_user = 0
        self.complete = 0
        self.compared = 0
        self.without_fde = 0
        self.frames_of_compared = 0
        self.self_counts = collections.Counter()
        self.by_leaf = collections.defaultdict(collections.Counter)  # leaf → functions on its compared stacks
        self.inner_counts = collections.Counter()
        self.compared_of_leaf = collections.Counter()
        self.ends = collections.Counter()
        self.known_ends = {}
        self.known_starters = {}

    def is_starter(self, function):
        """Whether the function belongs to the start code of the C library, between an outermost
        function and the program.
        """
        if function not in self.known_starters:
            name = self.functions.file(function[0]).name_of(function[1]) if function[0] != ANONYMOUS else ""
            self.known_starters[function] = name in STARTERS and os.path.basename(function[0]).startswith("libc.so")
        return self.known_starters[function]

    def is_end(self, function):
        if function not in self.known_ends:
            self.known_ends[function] = self.look_up_end(function)
        return self.known_ends[function]

    def look_up_end(self, function):
        path, start = function
        if path == ANONYMOUS:
            return False
        file = self.functions.file(path)
        name = file.name_of(start)
        if file.entry and start == file.start_of(file.entry):
            return True
        if name.startswith(RUNTIME_ENDS):
            return True
        return os.path.basename(path).startswith(("libc.so", "ld-linux", "ld-musl")) and file.ends_stacks(start)

    def add(self, stack):
        identified = [self.functions.identify(*frame) for frame in stack.frames]
        leaf = KERNEL if stack.kernel or not identified else identified[0]
        self.samples += stack.count
        self.self_counts[leaf] += stack.count
        if not identified and not stack.cut:
            self.without_user += stack.count
            return
        is_complete = bool(identified) and not stack.cut and self.is_end(identified[-1])
        if is_complete:
            self.complete += stack.count
        if is_complete or identified and self.is_starter(identified[-1]):
            self.compare_inclusive(leaf, identified, stack)
        self.count_inner(leaf, identified, stack)
        if not is_complete:
            outermost = stack.frames[-1] if stack.frames else ("[no frame]", 0)
            if outermost[0] == ANONYMOUS:
                outermost = (ANONYMOUS, 0)
            self.ends[stack.cut or "ended", outermost] += stack.count

    def compare_inclusive(self, leaf, identified, stack):
        inner = [function for function in identified if not self.is_starter(function) and not self.is_end(function)]
        self.compared += stack.count
        self.frames_of_compared += stack.count * len(inner)
        self.compared_of_leaf[leaf] += stack.count
        for function in set(inner) | ({KERNEL} if stack.kernel else set()):
            self.by_leaf[leaf][function] += stack.count

    def count_inner(self, leaf, identified, stack):
        """Counts functions up to the first one without an FDE. Beyond code generated at run time,
        perf is wrong.
        """
        inner = {KERNEL} if leaf == KERNEL else set()
        for function in identified:
            if function[0] == ANONYMOUS or function[1] not in self.functions.file(function[0]).with_fde:
                self.without_fde += stack.count
                break
            if not self.is_starter(function) and not self.is_end(function):
                inner.add(function)
        for function in inner:
            self.inner_counts[function] += stack.count

    def inner_shares(self):
        return {function: 100.0 * count / self.samples for function, count in self.inner_counts.items()}

    def compared_pct(self):
        return 100.0 * self.compared / max(self.samples - self.without_user, 1)

    def complete_pct(self):
        with_user = self.samples - self.without_user
        return 100.0 * self.complete / with_user if with_user else 0.0

    def mean_frames(self):
        return self.frames_of_compared / max(self.compared, 1)

    def self_shares(self):
        return {function: 100.0 * count / self.samples for function, count in self.self_counts.items()}

    def inclusive_shares(self, weights):
        """Weighted mean over leaves (@weights: leaf → weight) of the share of a leaf's stacks with
        a function.
        """
        shares, total = collections.Counter(), sum(weights.values())
        for leaf, weight in weights.items():
            for function, count in self.by_leaf[leaf].items():
                shares[function] += 100.0 * weight / total * count / self.compared_of_leaf[leaf]
        return shares


def inclusive_of_both(ours, perf):
    """Returns (our shares, shares of perf, method that made them comparable)."""
    if perf.compared_pct() >= PERF_COMPARED_PCT:
        return ours.inclusive_shares(ours.compared_of_leaf), perf.inclusive_shares(perf.compared_of_leaf), "whole"
    weights = {leaf: count for leaf, count in ours.compared_of_leaf.items()
               if perf.compared_of_leaf[leaf] >= max(LEAST_STACKS_OF_A_LEAF, LEAST_OF_A_LEAF * perf.self_counts[leaf])}
    if weights and ours.without_fde < MUCH_WITHOUT_FDE * ours.samples:
        return ours.inclusive_shares(weights), perf.inclusive_shares(weights), "by leaf"
    return ours.inner_shares(), perf.inner_shares(), "inner"


def top_differences(ours, perf):
    """Returns the top functions of both sides with both shares, the largest first."""
    names = set()
    for shares in (ours, perf):
        names.update(sorted(shares, key=shares.get, reverse=True)[:TOP])
    rows = [(function, ours.get(function, 0.0), perf.get(function, 0.0)) for function in names]
    return sorted(rows, key=lambda row: -max(row[1], row[2]))


def worst_of(rows):
    return max((abs(row[1] - row[2]) for row in rows), default=0.0)


def print_rows(title, rows, functions):
    print(f"  {title:32}      ours     perf  difference")
    for function, our, perf in rows:
        mark = " <--" if abs(our - perf) > TOLERANCE_POINTS else ""
        print(f"    {functions.label(function)[:60]:60} {our:7.2f} {perf:7.2f} {our - perf:+7.2f}{mark}")


def disassemble(path, address):
    """Returns a few instructions before and after @address."""
    command = ["objdump", "-d", "--no-show-raw-insn", f"--start-address={max(address - 24, 0)}",
               f"--stop-address={address + 16}", path]
    text = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout
    return [line for line in text.splitlines() if line.startswith("  ")][-10:]


def print_ends(side, functions, with_code):
    total = sum(side.ends.values())
    for (reason, frame), count in side.ends.most_common(8):
        label = functions.label(functions.identify(*frame)) if frame[0] not in ("[no frame]",) else frame[0]
        print(f"    {100.0 * count / max(side.samples, 1):6.2f} %  {reason:12} {label} at 0x{frame[1]:x}  ({count})")
        if with_code and frame[0].startswith("/") and count * 500 > side.samples:
            for line in disassemble(*frame):
                print(f"               {line}")
    if total:
        print(f"    total: {total} of {side.samples}")


def read_both(options, functions):
    perf_reader, our_reader = PerfStacks(functions), OurStacks(functions)
    perf, ours = Side(functions), Side(functions)
    pids = {int(text) for text in options.pids.split(",")}
    with open(options.perf, encoding="utf-8", errors="replace") as script:
        for stack in perf_reader.read(script, getattr(options, "from"), options.to):
            if stack.pid in pids:
                perf.add(stack)
    with open(options.ours, encoding="utf-8", errors="replace") as dump:
        for stack in our_reader.read(dump):
            if stack.pid in pids:
                ours.add(stack)
    return ours, perf, perf_reader.lost, our_reader.counters


def verdict(ours, self_rows, inclusive_rows):
    problems = []
    if ours.samples == 0:
        problems.append("no samples")
    if ours.complete_pct() < LEAST_COMPLETE_PCT:
        problems.append("incomplete")
    if worst_of(self_rows) > TOLERANCE_POINTS:
        problems.append("self")
    if worst_of(inclusive_rows) > TOLERANCE_POINTS:
        problems.append("inclusive")
    return problems


def main():
    parser = argparse.ArgumentParser()
    for name in ("--name", "--ours", "--perf", "--pids"):
        parser.add_argument(name, required=True)
    for name in ("--from", "--to"):
        parser.add_argument(name, required=True, type=int)
    parser.add_argument("--result")
    options = parser.parse_args()

    functions = Functions()
    ours, perf, lost, counters = read_both(options, functions)
    self_rows = top_differences(ours.self_shares(), perf.self_shares())
    our_shares, perf_shares, kind = inclusive_of_both(ours, perf)
    inclusive_rows = top_differences(our_shares, perf_shares)
    problems = verdict(ours, self_rows, inclusive_rows)

    print(f"{options.name}: {ours.samples} / {perf.samples} samples (perf lost {lost}), complete "
          f"{ours.complete_pct():.2f} / {perf.complete_pct():.2f} %, frames {ours.mean_frames():.1f} / "
          f"{perf.mean_frames():.1f}, without user part {ours.without_user} / {perf.without_user}")
    print_rows("self", self_rows, functions)
    print_rows(f"inclusive ({kind})", inclusive_rows, functions)
    print("  our incomplete stacks end at")
    print_ends(ours, functions, True)
    print("  incomplete stacks of perf end at")
    print_ends(perf, functions, False)
    lossy = {name: value for name, value in counters.items() if value and ("lost" in name or "missed" in name)}
    if lossy:
        print(f"  our losses: {lossy}")
    row = {"program": options.name, "samples": [ours.samples, perf.samples],
           "complete": [round(ours.complete_pct(), 2), round(perf.complete_pct(), 2)],
           "self": round(worst_of(self_rows), 2), "inclusive": round(worst_of(inclusive_rows), 2),
           "kind": kind, "problems": problems}
    if options.result:
        with open(options.result, "a", encoding="utf-8") as result:
            result.write(json.dumps(row) + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
