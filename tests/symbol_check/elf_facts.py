# SPDX-License-Identifier: Apache-2.0
"""Facts about a file from readelf, objdump and llvm-dwarfdump: code, symbols, lines. They decide between two answers."""

import bisect
import collections
import posixpath
import random
import re
import subprocess


def lines_of(command):
    """Yields the lines that a command prints: for a kernel they have a gigabyte."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          errors="replace") as process:
        for line in process.stdout:
            yield line.rstrip("\n")


def is_object_file(path):
    return any("REL (" in line for line in lines_of(["readelf", "-hW", path]))


def code_sections(path):
    """(number, address, size, name) of the sections of code; only .text of an object file."""
    pattern = r"\s*\[\s*(\d+)\]\s+(\S+)\s+\S+\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)\s+[0-9a-f]+\s+(\S*)"
    is_object = is_object_file(path)
    for line in lines_of(["readelf", "-SW", path]):
        match = re.match(pattern, line)
        if match and "X" in match.group(5) and "A" in match.group(5) and (not is_object or match.group(2) == ".text"):
            yield match.group(1), int(match.group(3), 16), int(match.group(4), 16), match.group(2)


def random_addresses(path, count, seed):
    """Uniformly distributed over all bytes of code; sorted, because the peers are faster then."""
    sections = list(code_sections(path))
    picker = random.Random(seed)
    chosen = picker.choices(sections, weights=[section[2] for section in sections], k=count)
    return sorted(section[1] + picker.randrange(section[2]) for section in chosen)


class Symbols:
    """The names at each address, and the bytes that each name has."""

    def __init__(self, path):
        self.ranges = [(address, address + size) for _, address, size, _ in code_sections(path)]
        section = next(code_sections(path))[0] if is_object_file(path) else None
        self.starts = collections.defaultdict(set)
        self.spans = collections.defaultdict(list)
        self.sized = []
        self.functions = set()
        self.labels = set()
        labels = []
        for line in lines_of(["readelf", "-sW", path]):
            fields = line.split()
            if len(fields) < 8 or fields[6] == "UND" or not re.fullmatch(r"[0-9a-f]{8,16}", fields[1]):
                continue
            if section is not None and fields[6] != section:
                self.spans.setdefault(fields[7], [])
                continue
            self._add(int(fields[1], 16), int(fields[2], 0), fields[7], fields[3], labels)
        self.sized.sort()
        self._add_labels(labels)
        self.at = collections.defaultdict(set)
        for name, starts in self.starts.items():
            for start in starts:
                self.at[start].add(name)

    def _add(self, address, size, name, kind, labels):
        self.starts[name].add(address)
        if not size:
            labels.append((address, name))
            self.labels.add(name)
            return
        self.spans[name].append((address, address + size))
        if kind in ("FUNC", "IFUNC", "GNU_IFUNC"):
            self.sized.append((address, address + size))
            self.functions.add(name)

    def _add_labels(self, labels):
        """A symbol without a size reaches to the end of the function around it, or else of its section."""
        starts = [start for start, _ in self.sized]
        for address, name in labels:
            index = bisect.bisect_right(starts, address) - 1
            if index >= 0 and address < self.sized[index][1]:
                end = self.sized[index][1]
            else:
                end = next((end for start, end in self.ranges if start <= address < end), address)
            self.spans[name].append((address, end))

    def are_aliases(self, a, b):
        return bool(self.starts.get(a, set()) & self.starts.get(b, set()))

    def names_beside(self, name):
        """All names that begin at the same address as @name, including itself."""
        return {name}.union(*(self.at[start] for start in self.starts.get(name, ())))

    def reaches(self, name, address):
        """Whether @name has the byte by the symbol table; None if the symbol table does not have the name."""
        spans = self.spans.get(name)
        return None if spans is None else any(start <= address < end for start, end in spans)

    def is_label(self, name):
        """Whether the symbol has no size."""
        return name in self.labels

    def is_in_function(self, address):
        """Whether a symbol with a size has the byte. Symbols may be nested, but not deeply."""
        index = bisect.bisect_right(self.sized, (address, 1 << 64)) - 1
        return any(start <= address < end for start, end in self.sized[max(0, index - 16):index + 1])


ROW = re.compile(r"(.+?)\s+(\d+|-)\s+(0x[0-9a-f]+|0)(?:\[\d+\])?(?:\s.*)?$")


def line_rows(path):
    """(file's last component, line or None at the end of a sequence, address), as readelf decodes the line tables."""
    for line in lines_of(["readelf", "-wLW", path]):
        match = ROW.match(line)
        if match:
            line = None if match.group(2) == "-" else int(match.group(2))
            yield posixpath.basename(match.group(1)), line, int(match.group(3), 16)


class Lines:
    """The rows of given addresses in all sequences: a list of (file, line, earlier lines of the sequence) for each."""

    def __init__(self, path, addresses):
        self.rows = collections.defaultdict(list)
        wanted = sorted(set(addresses))
        before, last, sequence = set(), None, []
        for name, line, address in line_rows(path) if wanted else ():
            if last is not None and address > last[2]:
                index = bisect.bisect_left(wanted, last[2])
                if index < len(wanted) and wanted[index] < address:
                    sequence.append((last, address, frozenset(before)))
            if line is None:
                self._take(sequence, wanted)
                before, last, sequence = set(), None, []
            else:
                before.add((name, line))
                last = (name, line, address)

    def _take(self, sequence, wanted):
        for (name, line, start), end, before in sequence:
            for address in wanted[bisect.bisect_left(wanted, start):bisect.bisect_left(wanted, end)]:
                self.rows[address].append((name, line, before))


ENTRY = re.compile(r"0x[0-9a-f]+:( +)(DW_TAG_\w+)")
RANGE = re.compile(r"\[0x([0-9a-f]{16}), 0x([0-9a-f]{16})\)|"
                   r"DW_AT_low_pc\t\(0x([0-9a-f]+)\)|DW_AT_high_pc\t\(0x([0-9a-f]+)\)")


def _entries(lines):
    """(depth, tag, text) of the entries that llvm-dwarfdump prints."""
    entry = None
    for line in lines:
        match = ENTRY.match(line)
        if match:
            if entry:
                yield entry
            entry = (len(match.group(1)), match.group(2), [])
        elif entry:
            entry[2].append(line)
    if entry:
        yield entry


def _has(text, address):
    ends = RANGE.findall("\n".join(text))
    low = next((int(end[2], 16) for end in ends if end[2]), None)
    high = next((int(end[3], 16) for end in ends if end[3]), None)
    spans = [(int(end[0], 16), int(end[1], 16)) for end in ends if end[0]]
    if low is not None and high is not None:
        spans.append((low, high))
    return any(start <= address < end for start, end in spans)


def call_lines(path, function, address):
    """DW_AT_call_line of the inlined calls around the address in functions of this name, innermost first; or None."""
    found, within = None, False
    for depth, tag, text in _entries(lines_of(["llvm-dwarfdump", f"--name={function}", "--show-children", path])):
        # Inlined calls of this name in other functions are printed, too, as outermost entries.
        if depth == 1:
            within = tag == "DW_TAG_subprogram" and _has(text, address)
            found = [] if within else found
        elif within and tag == "DW_TAG_inlined_subroutine" and _has(text, address):
            line = re.search(r"DW_AT_call_line\t\((\d+)\)", "\n".join(text))
            found.insert(0, int(line.group(1)) if line else 0)
    return found


def stub_names(path):
    """(start, end, name) of the PLT's entries as objdump names them: f@plt."""
    found = []
    for _, address, size, name in code_sections(path):
        if not name.startswith(".plt"):
            continue
        labels = []
        for line in lines_of(["objdump", "-d", "-j", name, path]):
            match = re.match(r"([0-9a-f]{8,16}) <(.+)>:$", line)
            if match:
                labels.append((int(match.group(1), 16), match.group(2)))
        ends = [start for start, _ in labels[1:]] + [address + size]
        found += [(start, end, label) for (start, label), end in zip(labels, ends)]
    return found
