#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the batch of tests/fuzz/corpus/batch_decode/small, with the current time as its end and a long host name."""

import pathlib
import sys
import time

CLOSED_WALL = bytes.fromhex("3080e4ffbfb1ca9cc318")
HOST = b"\x42\x68\x0a\x06host-7"
NAME = b"a" * 28 + b"!"


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


batch = pathlib.Path(sys.argv[1]).read_bytes()
assert batch.count(CLOSED_WALL) == 1 and batch.count(HOST) == 1, "the batch in the corpus has changed"
batch = batch.replace(CLOSED_WALL, b"\x30" + varint(time.time_ns()))
batch = batch.replace(HOST, bytes((0x42, 0x68 + len(NAME) - 6, 0x0a, len(NAME))) + NAME)
sys.stdout.buffer.write(batch)
