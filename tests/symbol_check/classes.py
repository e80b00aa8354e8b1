# SPDX-License-Identifier: Apache-2.0
"""Classes of differences, each with a verdict, and the condition that an answer of the class must meet.

The verdict is `name` if both answers are right but use different names, `peer` if the peer is wrong or has less, and
`open` for all others. Answers with the verdict `name` or `peer` are checked against the output of readelf, objdump and
llvm-dwarfdump (elf_facts.py): an answer that fails the check counts as unexplained.
"""

import posixpath
import re

from elf_facts import call_lines

NOTHING = [("??", "??", 0)]

# class -> (verdict, why)
CLASSES = {
    "alias": ("name", "symbols that begin at one address: ours is chosen by the rule of function_candidate.h"),
    "version": ("name", "name@VERSION of the symbol table"),
    "clone": ("peer", "the symbol table has the suffix .cold, .part or similar, which the peer omits"),
    "line 0": ("peer", "an instruction without a line: ours has the previous line of the same function"),
    "outside the symbol": ("peer", "the peer names a symbol that ends before the address"),
    "stub": ("peer", "an entry of the PLT, for which the peer has no name"),
    "file of the symbol": ("peer", "no row has the address: the peer reports a name of the symbol table as path"),
    "padding": ("peer", "no function has the byte, but a row of lines does, which the peer does not report"),
    "no unit": ("peer", "no unit of DWARF has the address, but a symbol does, which the peer does not report"),
    "no function": ("peer", "the peer has only the line: ours has the symbol"),
    "no lines": ("peer", "a row of lines has the address: the peer finds no unit, for example without .debug_aranges"),
    "fewer frames": ("peer", "the peer leaves out inlined functions; the other peer has our frames"),
    "after the end": ("peer", "no row has the address: the peer uses the last row of a sequence that has ended"),
    "local function": ("peer", "DWARF has no linkage name of a function local to a unit: ours is the symbol's"),
    "label": ("name", "a label within a function: one answer has the function, the other the label"),
    "wrong scope": ("peer", "the entries around the address match ours, and so does the other peer"),
    "folder 0": ("peer", "folder 0 of DWARF 5 is the unit's folder: the peer appends it to itself"),
    "several units": ("name", "several units have rows for the address: the linker kept the code of one of them"),
    "outermost name": ("open", ""),
    "depth": ("open", ""),
    "function": ("open", ""),
    "file": ("open", ""),
    "line": ("open", ""),
    "not there": ("open", "only the peer has an answer"),
}


def without_clone(name):
    return re.sub(r"(\.(cold|part|constprop|isra|lto_priv|llvm)(\.\d+)*)+$", "", name)


def same_before_cloning(symbol, name):
    """DWARF has the names C4 and D4 for constructors and destructors that the symbol table has as C1, C2, D1, D2."""
    plain = without_clone(name)
    return without_clone(symbol) == plain or re.sub(r"([CD])[12](?=[EI])", r"\g<1>4", without_clone(symbol)) == plain


def mangled_part(name):
    """How a name without namespaces appears in a linkage name."""
    if name == "operator()":
        return "clE"
    return f"{len(name) - 1}{name[1:]}D" if name.startswith("~") else f"{len(name)}{name}"


def outermost_class(address, ours, peer, symbols):
    if ours == peer:
        return None
    if ours.split("@")[0] == peer.split("@")[0] and not ours.endswith("@plt"):
        return "version"
    if symbols.are_aliases(ours, peer):
        return "alias"
    if symbols.reaches(peer, address) is False:
        return "outside the symbol"
    if any(same_before_cloning(name, peer) for name in symbols.names_beside(ours)):
        return "clone"
    if symbols.reaches(ours, address) and symbols.reaches(peer, address):
        return "label"
    if mangled_part(peer.split("<")[0]) in ours and symbols.reaches(peer, address) is None:
        return "local function"
    if peer == "??":
        return "stub" if ours.endswith("@plt") else "no function"
    return "outermost name"


def line_class(ours, peer, is_leaf):
    if ours[1:] == peer[1:]:
        return None
    if is_leaf and peer[1:] == ("??", 0):
        return "no lines"
    if is_leaf and peer[2] == 0 and ours[2] != 0:
        return "line 0"
    if is_leaf and peer[2] == 0 and ours[1] == "??":
        return "file of the symbol"
    if is_leaf and ours[1:] == ("??", 0):
        return "after the end"
    if peer[2] == ours[2] and peer[1].endswith("/" + ours[1]) and ours[1].startswith(peer[1][:-len(ours[1])]):
        return "folder 0"
    return "file" if ours[1] != peer[1] else "line"


def class_without_frames(address, ours, peer, symbols):
    """The class if one of the two has no answer or no function; None if the frames can be compared."""
    if peer == NOTHING:
        if ours[0][0].endswith("@plt"):
            return "stub"
        return "padding" if ours[0][0] == "??" else "no unit"
    if len(ours) == 1 and ours[0][:2] != ("??", "??") and ours[0][0] == peer[0][0] == "??":
        return "padding" if len(peer) > 1 else None
    if len(ours) == 1 and ours[0][0] == "??" and symbols.reaches(peer[-1][0], address) is False:
        return "outside the symbol"
    if ours == NOTHING:
        return "after the end" if len(peer) == 1 and peer[0][0] == "??" else "not there"
    return None


def leaves_out_frames(address, ours, peer, symbols):
    """Whether the peer has only the outermost function, with the source line of the innermost frame or none."""
    kind = outermost_class(address, ours[-1][0], peer[-1][0], symbols)
    return (len(peer) == 1 and (kind is None or CLASSES[kind][0] != "open") and
            (peer[0][1:] == ours[0][1:] or peer[0][1] == "??"))


def classify(address, ours, peer, symbols):
    """The class of the difference, or None. If frames of a chain have several classes, an open one is preferred."""
    if ours == peer:
        return None
    found = class_without_frames(address, ours, peer, symbols)
    if found:
        return found
    if len(ours) != len(peer):
        return "fewer frames" if leaves_out_frames(address, ours, peer, symbols) else "depth"
    kinds = ["function" for mine, theirs in zip(ours[:-1], peer[:-1]) if mine[0] != theirs[0]]
    kinds.append(outermost_class(address, ours[-1][0], peer[-1][0], symbols))
    kinds += [line_class(mine, theirs, number == 0) for number, (mine, theirs) in enumerate(zip(ours, peer))]
    kinds = [kind for kind in kinds if kind]
    return next((kind for kind in kinds if CLASSES[kind][0] == "open"), kinds[0])


def leaf_row(frames):
    return posixpath.basename(frames[0][1]), frames[0][2]


def has_entries(item, facts):
    """Whether the entries of DWARF around the address have our calls; None if no function of the name is found."""
    address, ours, _, _ = item
    names = {without_clone(name.split("@")[0]) for name in facts.symbols.names_beside(ours[-1][0])}
    for name in sorted(names):
        lines = call_lines(facts.path, name, address)
        if lines is not None:
            return lines == [frame[2] for frame in ours[1:]]
    return None


def is_confirmed(kind, item, facts):
    """Whether the facts of readelf and objdump meet the condition of the class. @facts: a compare.Facts."""
    address, ours, peer, witness = item
    symbols, rows = facts.symbols, facts.lines.rows.get(address, [])
    name, line = ours[0][0], ours[0][2]
    base = posixpath.basename(ours[0][1])
    if kind in ("alias", "version", "clone"):
        return symbols.reaches(ours[-1][0], address) is True
    if kind == "several units":
        found = {row[:2] for row in rows}
        return len(found) > 1 and {leaf_row(ours), leaf_row(peer)} <= found
    if kind == "wrong scope":
        return is_confirmed("fewer frames", item, facts) and has_entries(item, facts) is True
    if kind == "after the end":
        return not rows and (symbols.reaches(name, address) if name != "??" else not symbols.is_in_function(address))
    if kind == "label":
        return (ours[-1][0] in symbols.functions) != (peer[-1][0] in symbols.functions) or (
            symbols.is_label(ours[-1][0]) != symbols.is_label(peer[-1][0]))
    if kind == "fewer frames":
        return witness is not None and CLASSES[classify(address, ours, witness, symbols) or "alias"][0] != "open"
    if kind == "no lines":
        return any(row[:2] == (base, line) or (row[1] == 0 and (line == 0 or (base, line) in row[2])) for row in rows)
    if kind == "line 0":
        return any(row[1] == 0 and (base, line) in row[2] for row in rows)
    if kind == "file of the symbol":
        return not rows and symbols.reaches(ours[-1][0], address) is True
    if kind == "padding":
        return not symbols.is_in_function(address) and any(row[:2] == (base, line) for row in rows)
    if kind == "folder 0":
        return any(row[:2] == (base, line) for row in rows)
    if kind in ("stub", "outside the symbol"):
        if name.endswith("@plt"):
            return facts.stub_at(address) == name
        return not symbols.is_in_function(address) if name == "??" else symbols.reaches(ours[-1][0], address) is True
    return symbols.reaches(ours[-1][0], address) is True
