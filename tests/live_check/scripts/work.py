# SPDX-License-Identifier: Apache-2.0
"""Work for a Python interpreter: its evaluation loop, and C code that calls back into it."""
import functools
import hashlib
import json
import random
import re
import zlib


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@functools.total_ordering
class Item:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other.value

    def __lt__(self, other):
        return self.value < other.value


def main():
    words = re.compile(r"(\w+)[,;]? +(?=\w)")
    while True:
        fibonacci(18)
        sorted(Item(random.random()) for _ in range(2000))
        text = json.dumps([{"a": i, "b": [str(i)] * 3} for i in range(1500)])
        json.loads(text)
        words.sub(lambda match: match[1].upper(), "one, two; three four " * 300)
        hashlib.sha256(text.encode()).hexdigest()
        zlib.compress(text.encode(), 6)
        sum(x * x for x in range(20000))


main()
