#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the samples of a Perfetto trace: slot, process, thread, weight, innermost function and the build-ID of its file,
separated by tabs. Reads fields by their numbers in Perfetto's .proto files, as trace_processor does: interned data first."""
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """Returns {number: [values]}; a value is an integer or bytes."""
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at : at + value], at + value
            assert at <= len(data)
        else:
            assert tag & 7 == 0, f"wire type {tag & 7}"
        found.setdefault(tag >> 3, []).append(value)
    return found


FUNCTION_NAMES, FRAMES, CALLSTACKS, BUILD_IDS, MAPPINGS, TASKS = 5, 6, 7, 16, 19, 48
interned = {number: {} for number in (FUNCTION_NAMES, FRAMES, CALLSTACKS, BUILD_IDS, MAPPINGS, TASKS)}
processes, threads = {}, {}
with open(sys.argv[1], "rb") as file:
    packets = [fields(packet) for packet in fields(file.read())[1]]
assert packets[0][13] == [3], "the first packet does not begin the interned data"
defaults = fields(fields(packets[0][59][0])[100][0])
assert defaults[1] == [b"hearth"] and fields(defaults[2][0]) == {2: [b"on-cpu"], 3: [1]}, defaults
for packet in packets:
    for data in packet.get(12, []):
        for number, rows in fields(data).items():
            for row in map(fields, rows if number in interned else []):
                assert row[1][0] > 0 and row[1][0] not in interned[number]
                interned[number][row[1][0]] = row
    for tree in map(fields, packet.get(2, [])):
        processes.update((process[1][0], process[3][0].decode()) for process in map(fields, tree.get(1, [])))
        threads.update((thread[1][0], thread[2][0].decode()) for thread in map(fields, tree.get(2, [])))
for packet in packets:
    if 135 not in packet:
        continue
    sample = fields(packet[135][0])
    assert packet[8][0] % 10000000 == 0
    task = interned[TASKS][sample[2][0]]
    leaf = interned[FRAMES][interned[CALLSTACKS][sample[6][0]][2][-1]]
    mapping = interned[MAPPINGS].get(leaf.get(3, [0])[0], {})
    build_id = interned[BUILD_IDS][mapping[2][0]][2][0].hex() if 2 in mapping else ""
    print(packet[8][0] // 10000000, processes[task[2][0]], threads[task[3][0]], sample[11][0],
          interned[FUNCTION_NAMES][leaf[2][0]][2][0].decode(), build_id, sep="\t")
