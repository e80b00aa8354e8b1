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
    "alias": ("name", "several symbols at one address: ours follows the rule of symbol_table.h, the peer the order of the file"),
    "clone of a constructor": ("name", "C1 and C2, D1 and D2, or DWARF's C4 and D4, are one piece of code"),
    "version": ("name", "name@VERSION of the symbol table"),
    "line 0": ("peer", "an instruction without a line: ours counts it to the line before it in the same function"),
    "no function": ("peer", "the peer knows the line only: ours has the symbol"),
    "stub": ("peer", "a stub of the PLT: the peer has no name for it"),
    "symbol without DWARF": ("peer", "the peer gives no symbol beside DWARF's gaps"),
    "clone": ("peer", "the symbol table knows .cold, .part and the like: the peer gives the name before cloning"),
    "same text, other spelling": ("name", "an alias of DWARF's own (static and inlined copies)"),
    "outermost name": ("open", ""),
    "depth": ("open", ""),
    "function": ("open", ""),
    "file": ("open", ""),
    "line": ("open", ""),
    "not there": ("open", "only the peer knows something"),
}


def executable_ranges(path):
    """(address, size) of the sections that are code."""
    out = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout
    ranges = []
    is_object = "REL (" in subprocess.run(["readelf", "-hW", path], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        match = re.match(r"\s*\[\s*\d+\]\s+(\S+)\s+\S+\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)\s+[0-9a-f]+\s+(\S*)", line)
        if match and "X" in match.group(4) and "A" in match.group(4) and (not is_object or match.group(1) == ".text"):
            ranges.append((int(match.group(2), 16), int(match.group(3), 16)))
    return ranges


def random_addresses(path, count, seed):
    ranges = executable_ranges(path)
    picker = random.Random(seed)
    chosen = picker.choices(ranges, weights=[size for _, size in ranges], k=count)
    return [start + picker.randrange(size) for start, size in chosen]


def symbols_by_address(path):
    out = subprocess.run(["readelf", "-sW", path], check=True, capture_output=True, text=True).stdout
    by_address = collections.defaultdict(set)
    for line in out.splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[6] != "UND" and re.fullmatch(r"[0-9a-f]{8,16}", fields[1]):
            by_address[int(fields[1], 16)].add(fields[7])
    names = collections.defaultdict(set)
    for group in by_address.values():
        for name in group:
            names[name] |= group
    return names


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


def name_class(ours, peer, aliases):
    if ours == peer:
        return None
    if ours.split("@")[0] == peer.split("@")[0] and "@plt" not in ours:
        return "version"
    if same_constructor(without_clone(ours), without_clone(peer)):
        return "clone of a constructor" if without_clone(ours) != without_clone(peer) else "clone"
    if peer in aliases.get(ours, ()):
        return "alias"
    if without_clone(peer) in {without_clone(name) for name in aliases.get(ours, ())}:
        return "alias"
    if peer == "??":
        return "stub" if ours.endswith("@plt") else "no function"
    return "function"


def classify(ours, peer, aliases):
    """The class of the difference, or None."""
    if ours == peer:
        return None
    if len(ours) != len(peer):
        return "depth"
    if peer == [("??", "??", 0)]:
        return "stub" if ours[0][0].endswith("@plt") else "symbol without DWARF"
    if ours == [("??", "??", 0)]:
        return "not there"
    found = None
    for number, (mine, theirs) in enumerate(zip(ours, peer)):
        kind = name_class(mine[0], theirs[0], aliases)
        if kind == "function" and number + 1 == len(ours):
            kind = "outermost name"
        if kind is None and (mine[1], mine[2]) != (theirs[1], theirs[2]):
            if theirs[2] == 0 and mine[2] != 0:
                kind = "line 0"
            elif mine[1] != theirs[1]:
                kind = "file"
            else:
                kind = "line"
        if kind and CLASSES[kind][0] == "open":
            return kind
        found = found or kind
    return found


def compare(name, addresses, ours, peer, aliases, examples):
    counts = collections.Counter()
    shown = collections.defaultdict(list)
    total = 0
    for address, mine, theirs in zip(addresses, ours, peer):
        total += 1
        kind = classify(mine, theirs, aliases)
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
    aliases = symbols_by_address(path)
    ours, theirs = folder / "ours", folder / "peer"
    run([arguments.answers, path, *extra], addresses, ours)
    run(["llvm-symbolizer", f"--obj={path}", "--no-demangle"], addresses, theirs)
    good = compare(f"{path} llvm-symbolizer", addresses, (frames_of_block(block, False) for block in blocks(ours)),
                   (frames_of_block(block, True) for block in blocks(theirs)), aliases, arguments.examples)
    if arguments.eu > 0:
        few = addresses[:arguments.eu]
        run(["eu-addr2line", "-a", "-f", "-i", "-e", path], few, theirs)
        compare(f"{path} eu-addr2line", few, (frames_of_block(block, False) for block in blocks(ours)),
                (eu_frames(block) for block in eu_blocks(theirs)), aliases, arguments.examples)
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
