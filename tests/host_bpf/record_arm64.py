# SPDX-License-Identifier: Apache-2.0
"""Records the registers, stack and expected frames of an arm64 program, as an image for
test_recorded_images. record_arm64.sh starts the program in QEMU, and runs this script in gdb. image.h
describes the format of images.

At the start of the script the program is stopped at its first instruction. The script continues it
to its breakpoint instruction, and records it there. Environment variables:

    IMAGE   path of the image that the script writes, not compressed
    MODULE  file name of the program in images/modules/
    ABOUT   description of the image
    MASK    hex mask of the bits of a return address that are not its signature
    UNTIL   if set: step from the breakpoint until the pc is in this function or section
    STEPS   then step this number of instructions
    ORACLE  how the expected frames are found. "gdb": by gdb's unwinder. "records": by the chain of
            frame records, from x29. Signed return addresses need "records", because gdb removes the
            signature only if the target reports its bits
    CUT     the reason for an incomplete stack that the BPF unwinder must report, if not "complete"
"""

import os

import gdb

# Bytes below the stack pointer that are recorded too.
MARGIN = 512
MAX_STEPS = 100000
# The main stack reaches at most this far below the stack pointer of the first instruction.
STACK_BELOW_ENTRY = 256 * 1024


def register(name):
    return int(gdb.parse_and_eval(f"(unsigned long)${name}"))


def read_word(address):
    try:
        return int.from_bytes(gdb.selected_inferior().read_memory(address, 8).tobytes(), "little")
    except gdb.MemoryError:
        return None


def function_at(pc):
    text = gdb.execute(f"info symbol {pc:#x}", to_string=True)
    return text.split()[0] if " in section " in text else ""


def section_at(pc):
    text = gdb.execute(f"info symbol {pc:#x}", to_string=True)
    if " in section " in text:
        return text.split(" in section ")[1].split()[0]
    for line in gdb.execute("info files", to_string=True).splitlines():
        words = line.split()
        if len(words) >= 5 and words[1] == "-" and words[3] == "is":
            if int(words[0], 16) <= pc < int(words[2], 16):
                return words[4]
    return ""


def step_to_stop():
    until = os.environ.get("UNTIL", "")
    for _ in range(MAX_STEPS):
        pc = register("pc")
        if not until or until in (function_at(pc), section_at(pc)):
            break
        gdb.execute("stepi", to_string=True)
    else:
        raise gdb.GdbError(f"the program never reaches {until}")
    for _ in range(int(os.environ.get("STEPS", "0"))):
        gdb.execute("stepi", to_string=True)


def frames_of_gdb():
    """Yields the address of each frame, leaf first. One is subtracted from a return address, but not
    from the pc at which a signal interrupted the program.
    """
    frame, newer = gdb.newest_frame(), None
    while frame:
        exact = newer is None or newer.type() == gdb.SIGTRAMP_FRAME
        yield frame.pc() - (0 if exact else 1)
        frame, newer = frame.older(), frame


# A frame record is the caller's x29, then the return address.
def frames_of_records(mask):
    yield register("pc")
    record = register("x29")
    while record:
        pc = (read_word(record + 8) or 0) & mask
        if pc == 0:
            break
        yield pc - 1
        record = read_word(record)


def segments(path):
    """Yields start and end of each executable load segment of an ELF file, rounded to pages of 4 KiB.
    The file is linked to fixed addresses.
    """
    with open(path, "rb") as file:
        data = file.read()
    offset, size, count = (int.from_bytes(data[at:at + n], "little") for at, n in ((32, 8), (54, 2), (56, 2)))
    for i in range(count):
        header = data[offset + i * size:offset + (i + 1) * size]
        kind, flags = (int.from_bytes(header[at:at + 4], "little") for at in (0, 4))
        start, length = (int.from_bytes(header[at:at + 8], "little") for at in (16, 40))
        if kind == 1 and flags & 1:
            yield start & ~0xfff, (start + length + 0xfff) & ~0xfff


def stack_ranges(sp, entry_sp):
    """Yields the range of addresses to record of the current stack, and of the main stack if the
    current one is a signal stack.
    """
    if entry_sp - STACK_BELOW_ENTRY <= sp <= entry_sp:
        yield sp - MARGIN, entry_sp + 64
        return
    yield sp - MARGIN, sp + 16 * 1024
    yield entry_sp - 4 * 1024, entry_sp + 64


# Omits blocks of 64 bytes that gdb cannot read completely.
def memory_lines(ranges):
    for start, end in sorted(ranges):
        for line in range(start & ~63, end, 64):
            words = [read_word(line + i) for i in range(0, 64, 8)]
            if None not in words:
                yield f"memory {line:x} " + " ".join(f"{word:x}" for word in words)


def image_lines(entry_sp):
    mask = int(os.environ["MASK"], 16)
    path = gdb.current_progspace().filename
    code = list(segments(path))
    frames = list(frames_of_gdb() if os.environ["ORACLE"] == "gdb" else frames_of_records(mask))
    # Frames outside the program's segments are in generated code or in QEMU's signal trampoline. The
    # address of the trampoline's frame is one less than the trampoline's start. QEMU places the
    # trampoline at the start of a page, so that address is in the page before, and the image needs a
    # mapping of both pages. (The kernel puts an instruction before its trampoline.)
    generated = [pc for pc in frames if not any(start <= pc < end for start, end in code)]
    pages = sorted({page & ~0xfff for pc in generated for page in (pc, pc + 1)})

    yield "hearth-image arm64"
    yield f"about {os.environ['ABOUT']}"
    yield f"pc {register('pc'):x}"
    for number in range(31):
        yield f"register {number} {register(f'x{number}'):x}"
    yield f"register 31 {register('sp'):x}"
    yield f"pc-mask {mask:x}"
    yield f"module 1 {os.environ['MODULE']}"
    mappings = [(start, end, 1) for start, end in code] + [(page, page + 0x1000, 0) for page in pages]
    for start, end, number in sorted(mappings):
        yield f"mapping {start:x} {end:x} 0 {number}"
    yield from memory_lines([*stack_ranges(register("sp"), entry_sp), *((pc + 1, pc + 9) for pc in generated)])
    for pc in frames:
        number = 1 if any(start <= pc < end for start, end in code) else 0
        yield f"frame {number} {pc:x} {function_at(pc) or '?'}"
    yield f"cut {os.environ.get('CUT') or 'complete'}"


def record():
    entry_sp = register("sp")
    gdb.execute("handle SIGSEGV nostop noprint pass", to_string=True)
    gdb.execute("continue", to_string=True)
    if os.environ.get("UNTIL"):
        # Skip the breakpoint instruction: the processor does not advance the pc.
        gdb.execute("set $pc = $pc + 4")
    step_to_stop()
    lines = list(image_lines(entry_sp))
    with open(os.environ["IMAGE"], "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    for line in lines:
        if line.startswith(("frame", "cut", "about")):
            print(line)


gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
gdb.execute("set backtrace limit 1000")
record()
