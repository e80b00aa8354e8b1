# SPDX-License-Identifier: Apache-2.0
"""Prints the pids of a process and all that come from it, with commas between: family.py ROOT DUMP EVENTS

By what either side saw: DUMP is batch_dump's text, EVENTS `perf script --show-task-events`.
"""
import collections
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
    print(",".join(map(str, sorted(family_of(int(sys.argv[1]), children)))))


if __name__ == "__main__":
    main()
