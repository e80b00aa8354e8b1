#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the answers of compiled symbol tables with those of llvm-symbolizer and eu-addr2line.

    compare.py --answers PROGRAM [--count N] [--eu N] [--seed N] [--examples N] FILE[,executable=FILE][,alt=FILE]...

N random addresses of each file's code are resolved by all; function, inline chain, file and line must be equal. What is
not is counted by class, each with an example. A class has a verdict: `peer` where the peer is known to be wrong or to
say less (why is written beside the class below), `name` where both are right and the names differ only in spelling,
`ours` where we are, and `open` for everything else. Exits 1 when fewer than 99.9 % are equal or explained.
"""

import argparse
import bisect
import collections
import pathlib
import posixpath
import random
import re
import subprocess
import sys
import tempfile

GOAL = 0.999

# class -> (verdict, why)
CLASSES = {
    "alias": ("name", "several symbols at one address: ours follows the rule of function_candidate.h, the peer the order of the file"),
    "clone of a constructor": ("name", "C1 and C2, D1 and D2, or DWARF's C4 and D4, are one piece of code"),
    "version": ("name", "name@VERSION of the symbol table"),
    "line 0": ("peer", "an instruction without a line: ours counts it to the line before it in the same function"),
    "no function": ("peer", "the peer knows the line only: ours has the symbol"),
    "outside the symbol": ("peer", "the peer lets a symbol without a size reach into another section, or over what it has"),
    "file of the symbol": ("peer", "the peer has the name of an object file of the symbol table and no line"),
    "folder 0": ("peer", "DWARF 5's folder 0 is the unit's own: the peer joins it to itself"),
    "padding": ("peer", "bytes between two functions, which belong to a row of lines but to no function"),
    "stub": ("peer", "a stub of the PLT: the peer has no name for it"),
    "no unit": ("peer", "no unit of DWARF claims the address: the peer knows nothing, ours has the symbol"),
    "clone": ("peer", "the symbol table knows .cold, .part and the like: the peer gives the name before cloning"),
    "outermost name": ("open", ""),
    "depth": ("open", ""),
    "function": ("open", ""),
    "file": ("open", ""),
    "line": ("open", ""),
    "not there": ("open", "only the peer knows something"),
}


def is_object_file(path):
    return "REL (" in subprocess.run(["readelf", "-hW", path], check=True, capture_output=True, text=True).stdout


def code_sections(path):
    """(number, address, size) of the sections that are code; of an object file .text only."""
    out = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout
    pattern = r"\s*\[\s*(\d+)\]\s+(\S+)\s+\S+\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)\s+[0-9a-f]+\s+(\S*)"
    is_object = is_object_file(path)
    for line in out.splitlines():
        match = re.match(pattern, line)
        if match and "X" in match.group(5) and "A" in match.group(5) and (not is_object or match.group(2) == ".text"):
            yield match.group(1), int(match.group(3), 16), int(match.group(4), 16)


def executable_ranges(path):
    return [(address, size) for _, address, size in code_sections(path)]


def random_addresses(path, count, seed):
    ranges = executable_ranges(path)
    picker = random.Random(seed)
    chosen = picker.choices(ranges, weights=[size for _, size in ranges], k=count)
    return [start + picker.randrange(size) for start, size in chosen]


class Symbols:
    """Names at one address, and which bytes each name has."""

    def __init__(self, path, ranges, section):
        """@section: the number of the only section that counts, of an object file."""
        out = subprocess.run(["readelf", "-sW", path], check=True, capture_output=True, text=True).stdout
        by_address = collections.defaultdict(set)
        self.places = collections.defaultdict(list)
        labels, sized = [], []
        for line in out.splitlines():
            fields = line.split()
            if len(fields) < 8 or fields[6] == "UND" or not re.fullmatch(r"[0-9a-f]{8,16}", fields[1]):
                continue
            address, size, name = int(fields[1], 16), int(fields[2], 0), fields[7]
            if section is not None and fields[6] != section:
                self.places.setdefault(name, [])
                continue
            by_address[address].add(name)
            if size:
                self.places[name].append((address, address + size))
                sized.append((address, address + size))
            else:
                labels.append((address, name))
        self.place_labels(labels, sorted(sized), ranges)
        self.names = collections.defaultdict(set)
        for group in by_address.values():
            for name in group:
                self.names[name] |= group

    def place_labels(self, labels, sized, ranges):
        """A symbol without a size reaches to the end of the function that it is in, else of its section."""
        starts = [start for start, _ in sized]
        for address, name in labels:
            index = bisect.bisect_right(starts, address) - 1
            if index >= 0 and address < sized[index][1]:
                end = sized[index][1]
            else:
                end = next((start + length for start, length in ranges if start <= address < start + length), address)
            self.places[name].append((address, end))

    def are_aliases(self, a, b):
        return b in self.names.get(a, ()) or without_clone(b) in {without_clone(x) for x in self.names.get(a, ())}

    def reaches(self, name, address):
        places = self.places.get(name)
        return places is None or any(start <= address < end for start, end in places)


def run(command, addresses, out):
    text = "".join(f"0x{address:x}\n" for address in addresses)
    with open(out, "w") as file:
        subprocess.run(command, input=text, stdout=file, stderr=subprocess.DEVNULL, text=True, check=False)


def plain_path(text):
    path, _, line = text.rpartition(":")
    return path, line


def normal_path(path):
    return "??" if path in ("??", "", "??:0") else posixpath.normpath(path).replace("//", "/")


def frames_of_block(lines, has_column):
    frames = []
    for name, place in zip(lines[0::2], lines[1::2]):
        place = re.sub(r" \(discriminator \d+\)$", "", place)
        if has_column:
            place = place.rpartition(":")[0] or place
        path, line = plain_path(place)
        frames.append((name, normal_path(path), int(line) if line.isdigit() else 0))
    return frames


def blocks(path):
    """Blocks of lines that end in an empty one."""
    block = []
    with open(path, errors="replace") as file:
        for line in file:
            line = line.rstrip("\n")
            if line:
                block.append(line)
            else:
                yield block
                block = []


def eu_blocks(path):
    """Blocks that begin with the address; columns are there for some places only."""
    block = None
    with open(path, errors="replace") as file:
        for line in file:
            line = line.rstrip("\n")
            if re.fullmatch(r"0x[0-9a-f]{16}", line):
                if block is not None:
                    yield block
                block = []
            else:
                block.append(line)
    if block is not None:
        yield block


def eu_frames(block):
    frames = []
    for name, place in zip(block[0::2], block[1::2]):
        name = name.split(" inlined at ")[0]
        place = re.sub(r" \(discriminator \d+\)$", "", place)
        match = re.match(r"(.*?):(\d+)(?::\d+)?$", place)
        path, line = (match.group(1), int(match.group(2))) if match else ("??", 0)
        frames.append((name, normal_path(path), line))
    return frames


def without_clone(name):
    return re.sub(r"(\.(cold|part|constprop|isra|lto_priv|llvm)(\.\d+)*)+$", "", name)


def same_constructor(a, b):
    return re.sub(r"([CD])[0-5](I[^_]*)?E", r"\1E", a) == re.sub(r"([CD])[0-5](I[^_]*)?E", r"\1E", b)


def name_class(address, ours, peer, symbols):
    if ours == peer:
        return None
    if ours.split("@")[0] == peer.split("@")[0] and "@plt" not in ours:
        return "version"
    if not symbols.reaches(peer, address):
        return "outside the symbol"
    if same_constructor(without_clone(ours), without_clone(peer)):
        return "clone of a constructor" if without_clone(ours) != without_clone(peer) else "clone"
    if symbols.are_aliases(ours, peer):
        return "alias"
    if peer == "??":
        return "stub" if ours.endswith("@plt") else "no function"
    return "function"


def place_class(ours, peer):
    if ours[1:] == peer[1:]:
        return None
    if peer[2] == 0 and ours[2] != 0:
        return "line 0"
    if peer[2] == 0 and ours[1] == "??":
        return "file of the symbol"
    if peer[2] == ours[2] and peer[1].endswith("/" + ours[1]) and ours[1].startswith(peer[1][:-len(ours[1])]):
        return "folder 0"
    return "file" if ours[1] != peer[1] else "line"


def classify(address, ours, peer, symbols):
    """The class of the difference, or None."""
    nothing = [("??", "??", 0)]
    if ours == peer:
        return None
    if len(ours) != len(peer):
        return "depth"
    if peer == nothing:
        if ours[0][0].endswith("@plt"):
            return "stub"
        return "padding" if ours[0][0] == "??" else "no unit"
    if ours[-1][0] == "??" and len(ours) == 1 and not symbols.reaches(peer[0][0], address):
        return "outside the symbol"
    if ours == nothing:
        return "not there" if symbols.reaches(peer[0][0], address) else "outside the symbol"
    found = None
    for number, (mine, theirs) in enumerate(zip(ours, peer)):
        kind = name_class(address, mine[0], theirs[0], symbols)
        if kind == "function" and number + 1 == len(ours):
            kind = "outermost name"
        kind = kind or place_class(mine, theirs)
        if kind and CLASSES[kind][0] == "open":
            return kind
        found = found or kind
    return found


def compare(name, addresses, ours, peer, symbols, examples):
    counts = collections.Counter()
    shown = collections.defaultdict(list)
    total = 0
    for address, mine, theirs in zip(addresses, ours, peer):
        total += 1
        kind = classify(address, mine, theirs, symbols)
        counts[kind or "equal"] += 1
        if kind and len(shown[kind]) < examples:
            shown[kind].append((address, mine, theirs))
    equal = counts.pop("equal", 0)
    explained = sum(count for kind, count in counts.items() if CLASSES[kind][0] != "open")
    print(f"{name}: {total} addresses, {100 * equal / max(total, 1):.4f} % equal, "
          f"{100 * (equal + explained) / max(total, 1):.4f} % equal or explained")
    for kind, count in counts.most_common():
        verdict, why = CLASSES[kind]
        print(f"  {count:8} {100 * count / total:.4f} %  {kind} [{verdict}] {why}")
        for address, mine, theirs in shown[kind]:
            print(f"           0x{address:x}")
            print(f"             ours {mine}")
            print(f"             peer {theirs}")
    sys.stdout.flush()
    return total == 0 or (equal + explained) / total >= GOAL


def check_file(spec, arguments, folder):
    path, *others = spec.split(",")
    extra = []
    for other in others:
        kind, _, value = other.partition("=")
        extra += [f"--{kind}", value]
    addresses = random_addresses(path, arguments.count, arguments.seed)
    section = next(iter(code_sections(path)))[0] if is_object_file(path) else None
    symbols = Symbols(path, executable_ranges(path), section)
    ours, theirs = folder / "ours", folder / "peer"
    run([arguments.answers, path, *extra], addresses, ours)
    run(["llvm-symbolizer", f"--obj={path}", "--no-demangle"], addresses, theirs)
    good = compare(f"{path} llvm-symbolizer", addresses, (frames_of_block(block, False) for block in blocks(ours)),
                   (frames_of_block(block, True) for block in blocks(theirs)), symbols, arguments.examples)
    # eu-addr2line lays the sections of an object file out anew: other addresses.
    if arguments.eu > 0 and section is None:
        few = addresses[:arguments.eu]
        run(["eu-addr2line", "-a", "-f", "-i", "-e", path], few, theirs)
        compare(f"{path} eu-addr2line", few, (frames_of_block(block, False) for block in blocks(ours)),
                (eu_frames(block) for block in eu_blocks(theirs)), symbols, arguments.examples)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", required=True)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--eu", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", type=int, default=1)
    parser.add_argument("files", nargs="+", metavar="FILE")
    arguments = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for spec in arguments.files:
            good = check_file(spec, arguments, pathlib.Path(folder)) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
