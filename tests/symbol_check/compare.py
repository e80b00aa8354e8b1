#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the answers of compiled symbol tables with those of llvm-symbolizer and eu-addr2line.

    compare.py --answers PROGRAM [OPTION]... FILE[,executable=FILE][,alt=FILE][,split=FILE]...

All of them resolve random addresses of each file's code. Answers are equal if functions, inline chain, files and lines
are. Other answers are counted by class (classes.py), with an example of each. Random answers of each class are checked
against readelf, objdump and llvm-dwarfdump. Exits 1 if less than 99.9 % of the answers are equal or explained by a class.
"""

import argparse
import collections
import itertools
import pathlib
import random
import sys
import tempfile

from classes import CLASSES, classify, has_entries, is_confirmed
from elf_facts import Lines, Symbols, is_object_file, random_addresses, stub_names
from peers import ask, eu_answers, llvm_answers, our_answers

GOAL = 0.999
DEEP_SAMPLE = 20 # for checks that read all entries of a function, which takes seconds


class Facts:
    """Facts about a file for the checks: all of its symbols, the lines of some addresses, its PLT stubs."""

    def __init__(self, symbols, path, executable, addresses):
        self.symbols = symbols
        self.path = path
        self.lines = Lines(path, addresses)
        self.stubs = stub_names(executable)

    def stub_at(self, address):
        return next((name for start, end, name in self.stubs if start <= address < end), None)


class Sample:
    """A uniform random sample of a stream of unknown length (reservoir sampling)."""

    def __init__(self, size, picker):
        self.size, self.picker, self.seen, self.items = size, picker, 0, []

    def offer(self, item):
        self.seen += 1
        if len(self.items) < self.size:
            self.items.append(item)
        elif self.picker.randrange(self.seen) < self.size:
            self.items[self.picker.randrange(self.size)] = item


class Comparison:
    def __init__(self, symbols, judged):
        picker = random.Random(1)
        self.symbols = symbols
        self.total = self.equal = 0
        self.samples = collections.defaultdict(lambda: Sample(judged, picker))
        self.refuted = collections.defaultdict(list)

    def add(self, addresses, ours, peer, witnesses):
        for address, mine, theirs, witness in zip(addresses, ours, peer, witnesses):
            self.total += 1
            kind = classify(address, mine, theirs, self.symbols)
            if kind:
                self.samples[kind].offer((address, mine, theirs, witness))
            else:
                self.equal += 1

    def judge(self, path, executable):
        """Checks the sample of each class: answers may be refuted; answers of an open class may be explained."""
        items = [item for sample in self.samples.values() for item in sample.items]
        facts = Facts(self.symbols, path, executable, [item[0] for item in items]) if items else None
        for kind in list(self.samples):
            if CLASSES[kind][0] == "open":
                self.explain(kind, facts)
            else:
                self.refuted[kind] = [item for item in self.samples[kind].items if not is_confirmed(kind, item, facts)]
            if kind == "fewer frames":
                self.refuted[kind] += [item for item in self.samples[kind].items[:DEEP_SAMPLE]
                                       if has_entries(item, facts) is False]

    def explain(self, kind, facts):
        """Finds answers of classes that need the facts of the file. The second check is slow, so it takes a few."""
        for explanation, most in (("several units", None), ("wrong scope", DEEP_SAMPLE)):
            sample, explained = self.samples[kind], self.samples[explanation]
            asked = sample.items[:most]
            confirmed = [item for item in asked if is_confirmed(explanation, item, facts)]
            moved = round(sample.seen * len(confirmed) / max(len(asked), 1))
            explained.items += confirmed
            explained.seen += moved
            sample.seen -= moved
            sample.items = [item for item in sample.items if item not in confirmed]

    def refuted_share(self, kind):
        return len(self.refuted[kind]) / max(len(self.samples[kind].items), 1)

    def explained(self):
        return sum(sample.seen * (1 - self.refuted_share(kind)) for kind, sample in self.samples.items()
                   if CLASSES[kind][0] != "open")

    def report(self, name, examples):
        total = max(self.total, 1)
        explained = self.explained()
        shares = [100 * count / total for count in (self.equal, explained, total - self.equal - explained)]
        print(f"{name}: {self.total} addresses, {shares[0]:.4f} % equal, {shares[1]:.4f} % explained, "
              f"{shares[2]:.4f} % unexplained")
        for kind, sample in sorted(self.samples.items(), key=lambda item: -item[1].seen):
            if sample.seen == 0:
                continue
            verdict, why = CLASSES[kind]
            judged = f"; judged {len(sample.items)}, refuted {len(self.refuted[kind])}" if verdict != "open" else ""
            print(f"  {sample.seen:8} {100 * sample.seen / total:.4f} %  {kind} [{verdict}] {why}{judged}")
            shown = self.refuted[kind][:examples] or sample.items[:examples]
            for address, mine, theirs, _ in shown:
                print(f"           0x{address:x}{' (refuted)' if self.refuted[kind] else ''}")
                print(f"             ours {mine}")
                print(f"             peer {theirs}")
        sys.stdout.flush()
        return self.total == 0 or (self.equal + explained) / total >= GOAL


def check_file(spec, arguments, folder):
    path, *others = spec.split(",")
    belongs = dict(other.split("=", 1) for other in others)
    addresses = random_addresses(path, arguments.count, arguments.seed)
    symbols = Symbols(path)
    ours = folder / "ours"
    ask([arguments.answers, path, *(word for kind, value in belongs.items() for word in (f"--{kind}", value))],
        addresses, ours)
    good = True
    witness = None
    for name, command, answers, count in peers_of(path, belongs, arguments):
        asked = list(every(addresses, count, len(addresses)))
        theirs = folder / f"peer-{name}"
        ask(command, asked, theirs)
        comparison = Comparison(symbols, arguments.judged)
        comparison.add(asked, every(our_answers(ours), count, len(addresses)), answers(theirs),
                       every(llvm_answers(witness), count, len(addresses)) if witness else itertools.repeat(None))
        comparison.judge(path, belongs.get("executable", path))
        good = comparison.report(f"{path} {name}", arguments.examples) and good
        witness = theirs
    return good


def every(items, count, total):
    """About @count of the items, at equal distances."""
    return itertools.islice(items, 0, None, max(total // count, 1))


def peers_of(path, belongs, arguments):
    """(name, command, reader of its answers, number of addresses); the peer that gets all addresses is the first."""
    if arguments.llvm:
        split = [f"--dwp={belongs['split']}"] if belongs.get("split", "").endswith(".dwp") else []
        command = [arguments.llvm, f"--obj={path}", "--no-demangle", *split]
        yield "llvm-symbolizer", command, llvm_answers, arguments.count
    # eu-addr2line assigns other addresses to the sections of an object file.
    if arguments.eu > 0 and not is_object_file(path):
        yield "eu-addr2line", ["eu-addr2line", "-a", "-f", "-i", "-e", path], eu_answers, arguments.eu


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", required=True)
    parser.add_argument("--count", type=int, default=1_000_000, help="addresses of each file")
    parser.add_argument("--llvm", default="llvm-symbolizer", help="the peer; '' for none")
    parser.add_argument("--eu", type=int, default=0, help="number of addresses for eu-addr2line")
    parser.add_argument("--judged", type=int, default=1000, help="answers of each class that are checked")
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
