# SPDX-License-Identifier: Apache-2.0
"""Finds the function of an ELF file that contains an address, with the same rule for both
profilers.

A function begins at the start of an FDE in the table of .eh_frame_hdr, of a function symbol, of a
function in Go's table, or of code without an FDE. It ends at the start of the next function. (path,
start) identifies it; a symbol only gives it a name for messages. Addresses are ELF virtual
addresses.
"""
import bisect
import os
import struct
import subprocess

PT_LOAD, PT_NOTE, PT_GNU_EH_FRAME = 1, 4, 0x6474E550
NT_GNU_BUILD_ID = 3
SHT_SYMTAB, SHT_DYNSYM = 2, 11
GO_1_18_TABLE, GO_1_20_TABLE = 0xFFFFFFF0, 0xFFFFFFF1
STT_FUNC, STT_GNU_IFUNC = 2, 10
VDSO, ANONYMOUS = "[vdso]", "[anonymous]"
MOST_PADDING_BYTES = 63


def vdso_image():
    """Returns the vDSO of this process, which is the same in all processes."""
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        for line in maps:
            if line.rstrip().endswith("[vdso]"):
                start, end = (int(text, 16) for text in line.split()[0].split("-"))
                with open("/proc/self/mem", "rb", buffering=0) as memory:
                    memory.seek(start)
                    return memory.read(end - start)
    return b""


class ElfFunctions:
    def __init__(self, path):
        self.path = path
        self.segments = []  # (file offset, size in the file, address)
        self.starts = []
        self.with_fde = set()
        self.names = {}
        self.entry = None
        self.build_id = ""
        self.undefined_return = None
        try:
            data = vdso_image() if path == VDSO else open(path, "rb").read()
        except OSError:
            data = b""
        if data[:6] == b"\x7fELF\x02\x01":
            self.parse(data)

    def parse(self, data):
        self.entry, phoff = struct.unpack_from("<QQ", data, 24)
        (phnum,) = struct.unpack_from("<H", data, 56)
        starts = set()
        for i in range(phnum):
            kind, _, offset, vaddr, _, size = struct.unpack_from("<IIQQQQ", data, phoff + 56 * i)
            if kind == PT_LOAD:
                self.segments.append((offset, size, vaddr))
            elif kind == PT_GNU_EH_FRAME:
                fdes = self.fdes(data, offset, vaddr)
                self.with_fde.update(start for start, _ in fdes)
                starts.update(self.with_fde)
                starts.update(self.gaps_behind(fdes))
            elif kind == PT_NOTE:
                self.build_id = self.build_id or self.build_id_of(data[offset:offset + size])
        self.add_all_symbols(data, starts)
        self.add_debug_symbols(starts)
        if self.entry:
            self.names.setdefault(self.entry, "_start")
            starts.add(self.entry)
        self.starts = sorted(starts)

    def add_debug_symbols(self, starts):
        """Adds the symbols of the debug file that a -dbg package installs for this file."""
        identity = self.build_id
        path = f"/usr/lib/debug/.build-id/{identity[:2]}/{identity[2:]}.debug"
        if not identity or not os.path.exists(path):
            return
        with open(path, "rb") as file:
            self.add_all_symbols(file.read(), starts)

    @staticmethod
    def build_id_of(notes):
        offset = 0
        while offset + 12 <= len(notes):
            name_size, size, kind = struct.unpack_from("<III", notes, offset)
            content = offset + 12 + (name_size + 3) // 4 * 4
            if kind == NT_GNU_BUILD_ID and notes[offset + 12:offset + 16] == b"GNU\0":
                return notes[content:content + size].hex()
            offset = content + (size + 3) // 4 * 4
        return ""

    @staticmethod
    def fdes(data, offset, vaddr):
        """Returns (start, end) of each FDE; end is 0 if GNU tools would not write the FDE in this
        form.
        """
        version, pointer_encoding, count_encoding, table_encoding = struct.unpack_from("<BBBB", data, offset)
        if (version, pointer_encoding, count_encoding, table_encoding) != (1, 0x1B, 0x03, 0x3B):
            return []
        (count,) = struct.unpack_from("<I", data, offset + 8)
        fdes = []
        for to_start, to_fde in struct.iter_unpack("<ii", data[offset + 12:offset + 12 + 8 * count]):
            start = (vaddr + to_start) & 0xFFFFFFFFFFFFFFFF
            # Length, CIE, PC begin relative to its address, PC range; .eh_frame is in the segment
            # of its table.
            begin, size = struct.unpack_from("<iI", data, offset + to_fde + 8)
            fdes.append((start, start + size if vaddr + to_fde + 8 + begin == start else 0))
        return fdes

    @staticmethod
    def gaps_behind(fdes):
        """Returns the starts of code without an FDE, which does not belong to the preceding
        function.
        """
        fdes = sorted(fdes)
        next_starts = [start for start, _ in fdes[1:]] + [1 << 64]
        return [end for (_, end), start in zip(fdes, next_starts) if end and start - end > MOST_PADDING_BYTES]

    def add_all_symbols(self, data, starts):
        (shoff,) = struct.unpack_from("<Q", data, 40)
        (shnum,) = struct.unpack_from("<H", data, 60)
        sections = [struct.unpack_from("<IIQQQQII", data, shoff + 64 * i) for i in range(shnum)] if shoff else []
        (names_index,) = struct.unpack_from("<H", data, 62)
        for section in sections:
            if section[1] in (SHT_SYMTAB, SHT_DYNSYM):
                self.add_symbols(data, section, sections[section[6]], starts)
            elif self.text_at(data, sections[names_index][4] + section[0]) == ".gopclntab":
                self.add_go_functions(data[section[4]:section[4] + section[5]], starts)

    @staticmethod
    def text_at(data, offset):
        return data[offset:data.index(b"\0", offset)].decode("utf-8", "replace")

    def add_go_functions(self, table, starts):
        if struct.unpack_from("<I", table)[0] not in (GO_1_18_TABLE, GO_1_20_TABLE):
            return
        count, _, text, names, _, _, _, functions = struct.unpack_from("<8Q", table, 8)
        for i in range(count):
            entry, function = struct.unpack_from("<II", table, functions + 8 * i)
            (name,) = struct.unpack_from("<i", table, functions + function + 4)
            starts.add(text + entry)
            self.names[text + entry] = self.text_at(table, names + name)

    def add_symbols(self, data, section, strings, starts):
        table = data[section[4]:section[4] + section[5]]
        for name, info, _, index, value, size in struct.iter_unpack("<IBBHQQ", table[:len(table) // 24 * 24]):
            if index == 0 or (info & 15) not in (STT_FUNC, STT_GNU_IFUNC):
                continue
            if size or value not in self.names:
                starts.add(value)
                self.names[value] = self.text_at(data, strings[4] + name).split("@")[0]

    def address_of_offset(self, offset):
        for start, size, vaddr in self.segments:
            if start <= offset < start + size:
                return offset - start + vaddr
        return offset

    def start_of(self, address):
        """Returns the start of the function that contains @address; 0 below the first function."""
        i = bisect.bisect_right(self.starts, address)
        return self.starts[i - 1] if i else 0

    def name_of(self, start):
        return self.names.get(start) or f"0x{start:x}"

    def ends_stacks(self, start):
        """Returns whether the call frame information marks the function at @start as outermost."""
        if self.undefined_return is None:
            self.undefined_return = self.read_undefined_return()
        return start in self.undefined_return

    def read_undefined_return(self):
        """Reads the outermost functions with readelf, which is independent of both profilers."""
        found, start = set(), 0
        with subprocess.Popen(["readelf", "--debug-dump=frames", self.path], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, errors="replace") as dump:
            for line in dump.stdout:
                if " FDE " in line:
                    start = int(line.split("pc=")[1].split("..")[0], 16)
                elif "DW_CFA_undefined: r16" in line:
                    found.add(start)
        return found


class Functions:
    """Maps (path, address) to (path, start), and keeps the parsed files."""

    def __init__(self):
        self.files = {}

    def file(self, path):
        if path not in self.files:
            self.files[path] = ElfFunctions(path)
        return self.files[path]

    def identify(self, path, address):
        if path == ANONYMOUS:
            return ANONYMOUS, 0
        return path, self.file(path).start_of(address)

    def label(self, function):
        path, start = function
        if path in (ANONYMOUS, "[kernel]"):
            return path
        return f"{path.rsplit('/', 1)[-1]}:{self.file(path).name_of(start)}"
