#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The agent's compilers (helpers that compile unwind tables) fail at two small programs: the call frame information of one
# needs more memory than a compiler may use, that of the other more time. The agent counts both failures by reason, profiles
# both programs by frame pointers, and compiles the table of a third program that starts afterwards.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq gcc python3
need_workload shares

# program NAME: has frame pointers, but gcc omits them in leaf functions: frame pointers show leaf_of_NAME and
# outer_of_NAME, but not caller_of_NAME. The filler of 1.1 MB is the code that the many unwind rows below describe.
n_programs=0
program() {
	n_programs=$((n_programs + 1))
	gcc -O1 -fno-omit-frame-pointer -fno-inline -fno-optimize-sibling-calls -no-pie -g -Wl,--build-id -o "$work/$1" -x c - <<C
__asm__(".text\n.globl filler\nfiller:\n.skip 1100000, 0x90\n");
volatile unsigned long n;
__attribute__((noinline)) void leaf_of_$1(void) { for (int i = 0; i < 1000000; i++) n += $n_programs; }
__attribute__((noinline)) void caller_of_$1(void) { leaf_of_$1(); n++; }
__attribute__((noinline)) void outer_of_$1(void) { caller_of_$1(); n++; }
int main(void) { for (;;) outer_of_$1(); }
C
}
for name in greedy endless calm; do program $name; done

# Replaces .eh_frame by a compressed section: the loader does not read section headers.
python3 - "$work" <<'PYTHON'
import struct, sys, zlib
work = sys.argv[1]
MIB = 1 << 20

def replace(name, instructions, n_fdes, n_sections):
    path = f"{work}/{name}"
    file = bytearray(open(path, "rb").read())
    shoff, = struct.unpack_from("<Q", file, 40)
    shnum, names = struct.unpack_from("<HH", file, 60)
    headers = [list(struct.unpack_from("<IIQQQQIIQQ", file, shoff + 64 * i)) for i in range(shnum)]
    def name_of(header):
        at = headers[names][4] + header[0]
        return file[at:file.index(0, at)].decode()
    by_name = {name_of(header): i for i, header in enumerate(headers)}
    text = headers[by_name[".text"]][3]

    # CIE: version 1, "zR" with absolute pointers, CFA is rsp + 8. FDEs: 1.1 MB of code each.
    cie = struct.pack("<IB", 0, 1) + b"zR\0" + bytes([1, 0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1])
    cie += bytes(-(len(cie) + 4) % 8)
    content = bytearray(struct.pack("<I", len(cie)) + cie)
    for _ in range(n_fdes):
        fde = struct.pack("<QQB", text, 1100000, 0) + instructions
        content += struct.pack("<II", len(fde) + 4, len(content) + 4) + fde
    content += bytes(4)
    packed = struct.pack("<IIQQ", 1, 0, len(content), 8) + zlib.compress(bytes(content), 1)
    offset = len(file)
    file += packed
    frames = headers[by_name[".eh_frame"]]
    # Turn other sections into further .eh_frame sections.
    spare = [by_name[".eh_frame"]] + [i for i, header in enumerate(headers) if name_of(header).startswith(".debug_")]
    for i in spare[:n_sections]:
        headers[i] = [frames[0], 1, 0x800, 0, offset, len(packed), 0, 0, 8, 0]
        struct.pack_into("<IIQQQQIIQQ", file, shoff + 64 * i, *headers[i])
    print(name, len(file), "bytes,", len(content), "of call frame information, sections:", len(spare[:n_sections]))
    open(path, "wb").write(file)

# One row for each three bytes: the array of 62 million rows of 8 bytes exceeds the limit of 512 MiB when it grows.
row = bytes([0x41, 0x0e, 16]) + bytes([0x41, 0x0e, 24])
replace("greedy", row * 174000, 180, 1)
# A billion equal rows, and an invalid instruction at the end of each FDE: compiling takes long and gives no rows.
replace("endless", bytes([0x41]) * (MIB - 100) + bytes([0x3f]), 250, 8)
PYTHON

start_server
start_agent
start_workload shares 200
wait_for_name work_a shares "$(now_s)" $(($(now_s) + 60))
# Its four threads would take most of the CPU time of helpers, whose time limits do not depend on the load of the host.
end_process "$workload_pid"
metric_of() { awk -v name="hearth_agent_$1" '$1 == name { print $2 }' "$agent_metrics"; }
failed_by() { [ "$(metric_of "unwind_tables_failed_total{reason=\"$1\"}")" -ge 1 ]; }

for name in greedy endless; do
	start_background $name "$work/$name"
	declare "${name}_pid=$background_pid"
done
expect_within 180s failed_by limits
expect_within 120s failed_by timeout
say "$(grep -E '^hearth_agent_(unwind_tables|helpers|unwind_compile)' "$agent_metrics" | tr '\n' ' ')"

# ---- both are profiled by frame pointers
next_second
sleep_until $((second + 3))
wait_for_coverage $((second + 3))
for name in greedy endless; do
	wait_for_name "outer_of_$name" $name "$second" $((second + 2))
	fetch_profile "$work/$name.json" $name "$second" $((second + 2))
	expect_at_least "percent of $name below the function that frame pointers show" "$(share_of "$work/$name.json" "outer_of_$name")" 95
done

# ---- the agent measures the CPU time of helpers; compiling is a part of it
expect_at_least "CPU time of compilers in ms" $(($(metric_of compilers_cpu_ns_total) / 1000000)) 1000
expect_equal "budget steps taken" "$(metric_of 'budget_changes_total{direction="tightened"}')" 0

# ---- the next program gets its table
tables_before=$(metric_of 'unwind_tables_total{outcome="compiled"}')
start_background calm "$work/calm"
one_more() { [ "$(metric_of 'unwind_tables_total{outcome="compiled"}')" -gt "$tables_before" ]; }
expect_within 60s one_more
wait_for_name leaf_of_calm calm "$(now_s)" $(($(now_s) + 60))

is_alive "$agent_pid" || fail "the agent has ended"
kill -TERM "$agent_pid"
expect_within 20s has_ended "$agent_pid"
wait "$agent_pid" || fail "the agent ended with status $?"
