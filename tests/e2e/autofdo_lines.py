#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a text sample profile of LLVM, and prints its lines: samples, function and the functions that it is inlined into,
outermost first, each with the offset of the call or the line."""
import re
import sys

stack, left_out = [], 0  # of open functions: [name, offset of the call in the function around, total, sum so far]


def close(depth):
    while len(stack) > depth:
        name, _, total, summed = stack.pop()
        assert total == summed, f"{name} has {summed}, not {total}"
        if stack:
            stack[-1][3] += total


with open(sys.argv[1], encoding="ascii") as file:
    for line in file:
        comment = re.fullmatch(r"# (?:left out: (\d+) nanoseconds (.*)|on-cpu of hearth; values are nanoseconds)\n", line)
        head = re.fullmatch(r"([^ #].*):(\d+):0\n", line)
        body = re.fullmatch(r"( +)(\d+): (?:(\d+)|([^ \d].*):(\d+))\n", line)
        assert comment or head or body, line
        if comment and comment[1]:
            left_out += int(comment[1])
        elif head:
            close(0)
            stack.append([head[1], None, int(head[2]), 0])
        elif body:
            close(len(body[1]))
            assert len(stack) == len(body[1]), line
            if body[4]:
                stack.append([body[4], body[2], int(body[5]), 0])
            else:
                stack[-1][3] += int(body[3])
                calls = [*(call for _, call, _, _ in stack[1:]), body[2]]
                print(body[3], *(f"{frame[0]}:{call}" for frame, call in zip(stack, calls)))
    close(0)
print(left_out, "left_out")
