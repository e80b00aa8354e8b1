#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# A script with known stacks: python_stacks.py MODE [FILE]. It runs until SIGTERM.
#
#   shares    three functions that use 60, 30 and 10 % of the CPU time. The module faulthandler writes the stacks that it
#             finds to FILE, 100 times a second, without the lock of the interpreter.
#   calls     four equal parts: 200 levels of recursion (before Python 3.11, which has further frames for each level, 50),
#             a function that sorted() calls, one that functools.reduce() calls, and a generator
#   threads   two threads
import faulthandler
import functools
import sys
import threading


LEVELS = 200 if sys.version_info >= (3, 11) else 50


def sixty(n):
    total = 0
    for i in range(6 * n):
        total += i * i % 7
    return total


def thirty(n):
    total = 0
    for i in range(3 * n):
        total += i * i % 7
    return total


def ten(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def shares():
    while True:
        sixty(1000)
        thirty(1000)
        ten(1000)


def work(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def descend(levels):
    if levels > 1:
        return descend(levels - 1)
    return work(20000)


class Callbacks:
    def key(self, value):
        return work(2000) + value

    def by_sorted(self):
        return sorted(range(10), key=self.key)

    def by_reduce(self):
        return functools.reduce(lambda total, value: work(2000) + value, range(11))


def generate():
    for _ in range(10):
        yield work(2000)


def consume():
    return sum(generate())


def calls():
    callbacks = Callbacks()
    while True:
        descend(LEVELS)
        callbacks.by_sorted()
        callbacks.by_reduce()
        consume()


def first_thread():
    while True:
        work(1000)


def second_thread():
    while True:
        work(1000)


def threads():
    for function in (first_thread, second_thread):
        threading.Thread(target=function, daemon=True).start()
    threading.Event().wait()


if len(sys.argv) > 2:
    faulthandler.dump_traceback_later(0.01, repeat=True, file=open(sys.argv[2], "w"))
globals()[sys.argv[1]]()
