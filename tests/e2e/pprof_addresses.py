# SPDX-License-Identifier: Apache-2.0
"""Prints "ADDRESS SELF TOTAL" for each address of a function in the output of `go tool pprof -raw -unit=ns`.

A sample is "VALUE...: LOCATION..." with the innermost location first; a location is "NUMBER: 0xADDRESS M=1 FUNCTION ...", with a
line for each function that it is inlined into. The printed values are in microseconds. pprof_addresses.py FILE FUNCTION
"""
import collections
import re
import sys

path, function = sys.argv[1:]
section, number = None, None
address_of, samples = {}, []
for line in open(path):
    heading = re.match(r"(Samples|Locations|Mappings)", line)
    if heading:
        section = heading[1]
    elif section == "Samples" and (sample := re.match(r"\s+([\d ]+):\s+([\d ]+)$", line)):
        samples.append((int(sample[1].split()[-1]), [int(number) for number in sample[2].split()]))
    elif section == "Locations":
        if location := re.match(r"\s*(\d+): (0x[0-9a-f]+) (?:M=\d+ )?(.*)", line):
            number, address, line = location.groups()
        if line.split() and line.split()[0] == function:
            address_of[int(number)] = address
selfs, totals = collections.Counter(), collections.Counter()
for value, locations in samples:
    if locations[0] in address_of:
        selfs[address_of[locations[0]]] += value
    for address in {address_of[number] for number in locations if number in address_of}:
        totals[address] += value
for address, total in totals.items():
    print(address, round(selfs[address] / 1000), round(total / 1000))
