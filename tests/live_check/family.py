# SPDX-License-Identifier: Apache-2.0
"""Prints the pids of a process and its descendants, separated by commas.

  family.py ROOT DUMP EVENTS [NAMES]

Parents are taken from both profilers: DUMP is the output of batch_dump, EVENTS that of `perf script
--show-task-events`. NAMES is a regular expression for the names of the processes: on hosts that
reuse pids soon, a pid may also have belonged to an unrelated process.
"""
import collections
import re
import sys

from stacks import FORK


def children_of(dump, events):
    children = collections.defaultdict(set)
    for line in dump:
        if line.startswith("process\t"):
            _, _, pid, parent, *_ = line.split("\t")
            children[int(parent)].add(int(pid))
    for line in events:
        found = FORK.search(line.rstrip("\n"))
        if found and found[1] != found[2]:
            children[int(found[2])].add(int(found[1]))
    return children


def pids_named(names, dump):
    processes = (line.rstrip("\n").split("\t") for line in dump if line.startswith("process\t"))
    return {int(process[2]) for process in processes if re.fullmatch(names, process[4])}


def family_of(root, children):
    family, waiting = set(), [root]
    while waiting:
        pid = waiting.pop()
        if pid not in family:
            family.add(pid)
            waiting.extend(children[pid])
    return family


def main():
    with open(sys.argv[2], encoding="utf-8", errors="replace") as dump, \
         open(sys.argv[3], encoding="utf-8", errors="replace") as events:
        children = children_of(dump, events)
    family = family_of(int(sys.argv[1]), children)
    if len(sys.argv) > 4:
        with open(sys.argv[2], encoding="utf-8", errors="replace") as dump:
            family &= pids_named(sys.argv[4], dump)
    print(",".join(map(str, sorted(family))))


if __name__ == "__main__":
    main()
