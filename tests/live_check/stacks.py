# SPDX-License-Identifier: Apache-2.0
"""Stacks of both profilers in one form.

Fields of Stack: `frames` are the user frames, leaf first, each (path, ELF address); `kernel` is
true if the stack also has kernel frames; `cut` is our reason for an incomplete stack and `name` the
name of the process (perf reports neither: ""); `pid`, `count`.
"""
import collections
import re

from elf_functions import ANONYMOUS, VDSO

Stack = collections.namedtuple("Stack", "count pid name cut kernel frames")

FRAME_NATIVE, FRAME_KERNEL, FRAME_FILE_OFFSET, FRAME_KERNEL_NAMED = 1, 2, 3, 4
KERNEL_SPACE = 1 << 63

FORK = re.compile(r"PERF_RECORD_FORK\((\d+):\d+\):\((\d+):\d+\)$")
LOST = re.compile(r"PERF_RECORD_LOST(?:_SAMPLES)? lost (\d+)$")
SAMPLE = re.compile(r"^ *(\d+)/(\d+) +(\d+)\.(\d+): *$")


class OurStacks:
    """Reads the output of batch_dump."""

    def __init__(self, functions):
        self.functions = functions
        self.counters = collections.Counter()

    def read(self, lines):
        executables, processes, paths = {}, {}, {}
        for line in lines:
            kind, *fields = line.rstrip("\n").split("\t")
            if kind == "executable":
                executables[fields[0]] = fields[2]
            elif kind == "process":
                processes[fields[0]] = int(fields[1]), fields[3]
            elif kind == "path":
                paths[fields[0], fields[1]] = fields[2]
            elif kind == "counter":
                self.counters[fields[0]] += int(fields[1])
            elif kind == "stack":
                yield self.stack(fields, executables, processes, paths)

    def stack(self, fields, executables, processes, paths):
        count, cut, process = int(fields[0]), fields[1], fields[2]
        frames, kernel = [], False
        for text in fields[3:]:
            kind, executable, address = text.split(":")
            kind, address = int(kind), int(address, 16)
            if kind in (FRAME_KERNEL, FRAME_KERNEL_NAMED):
                kernel = True
                continue
            if executable == "0":
                frames.append((ANONYMOUS, address))
                continue
            path = paths.get((process, executable)) or executables.get(executable, "?" + executable)
            if kind == FRAME_FILE_OFFSET:
                address = self.functions.file(path).address_of_offset(address)
            frames.append((path, address))
        pid, name = processes.get(process, (0, ""))
        return Stack(count, pid, name, "" if cut == "complete" else cut, kernel, frames)


class PerfStacks:
    """Reads `perf script -F pid,tid,time,ip,dso --show-lost-events`.

    For an address in a file, perf prints the offset in the file, for all others the address.
    """

    def __init__(self, functions):
        self.functions = functions
        self.lost = 0

    def read(self, lines, from_ns, to_ns):
        sample, frames = None, []
        for line in lines:
            if sample and line.startswith("\t"):
                frames.append(line)
                continue
            if sample and from_ns <= sample[1] < to_ns:
                yield self.stack(sample[0], frames)
            sample, frames = None, []
            found = SAMPLE.match(line)
            if found:
                sample = int(found[1]), int(found[3]) * 10**9 + int(found[4].ljust(9, "0"))
            elif "PERF_RECORD" in line:
                self.record(line.rstrip("\n"))
        if sample and from_ns <= sample[1] < to_ns:
            yield self.stack(sample[0], frames)

    def record(self, line):
        found = LOST.search(line)
        if found:
            self.lost += int(found[1])

    def stack(self, pid, lines):
        frames, kernel = [], False
        for line in lines:
            address, dso = line.split(None, 1)
            address, path = int(address, 16), dso.rstrip()[1:-1]
            if address >= KERNEL_SPACE and not frames:
                kernel = True
            elif address >= KERNEL_SPACE:
                break # a wrong return address at the end of perf's copy of the stack
            elif path == VDSO:
                frames.append((VDSO, address))
            elif path.startswith("/") and not path.startswith(("//anon", "/tmp/perf-")):
                frames.append((path, self.functions.file(path).address_of_offset(address)))
            else:
                frames.append((ANONYMOUS, address))
        return Stack(1, pid, "", "", kernel, frames)
