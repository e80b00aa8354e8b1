# SPDX-License-Identifier: Apache-2.0
"""Runs a symbol resolver on addresses, and reads its answers. The resolvers are symbol_answers (ours),
llvm-symbolizer and eu-addr2line. The answer to an address is a list of frames (function, path, line),
innermost frame first. An unknown path is "??", and an unknown line 0.
"""

import posixpath
import re
import subprocess


def ask(command, addresses, out):
    """Runs @command with one address per line as input, and writes its output to the file @out."""
    text = "".join(f"0x{address:x}\n" for address in addresses)
    with open(out, "w") as file:
        subprocess.run(command, input=text, stdout=file, stderr=subprocess.DEVNULL, text=True, check=False)


def normal_path(path):
    return "??" if path in ("??", "", "??:0") else posixpath.normpath(path).replace("//", "/")


# Splits "path:line".
def _place(text):
    path, _, line = text.rpartition(":")
    return normal_path(path), int(line) if line.isdigit() else 0


def _blocks(path):
    """Yields a list of lines for each block. A block is the answer to one address, and ends with an
    empty line, which is not in the list.
    """
    block = []
    with open(path, errors="replace") as file:
        for line in file:
            line = line.rstrip("\n")
            if line:
                block.append(line)
            else:
                yield block
                block = []


def our_answers(path):
    for block in _blocks(path):
        yield [(name, *_place(place)) for name, place in zip(block[0::2], block[1::2])]


def llvm_answers(path):
    """Source lines are path:line:column."""
    for block in _blocks(path):
        yield [(name, *_place(place.rpartition(":")[0] or place)) for name, place in zip(block[0::2], block[1::2])]


def _eu_frames(block):
    frames = []
    for name, place in zip(block[0::2], block[1::2]):
        name = name.split(" inlined at ")[0]
        match = re.match(r"(.*?):(\d+)(?::\d+)?$", re.sub(r" \(discriminator \d+\)$", "", place))
        path, line = (match.group(1), int(match.group(2))) if match else ("??", 0)
        frames.append((name, normal_path(path), line))
    return frames


def eu_answers(path):
    """A block begins with its address and has no empty line at its end. Only some source lines have a
    column.
    """
    block = None
    with open(path, errors="replace") as file:
        for line in file:
            line = line.rstrip("\n")
            if not re.fullmatch(r"0x[0-9a-f]{16}", line):
                block.append(line)
                continue
            if block is not None:
                yield _eu_frames(block)
            block = []
    if block is not None:
        yield _eu_frames(block)
