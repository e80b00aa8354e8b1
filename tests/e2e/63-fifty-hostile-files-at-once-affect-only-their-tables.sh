#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fifty programs with damaged call frame information start at once, while the agent profiles another program. The CPU time
# of that program, and the shares of its functions, stay right. The agent counts compilers that crash, and stops on SIGTERM.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq gcc python3
need_workload shares

# A program with a hundred thousand functions with call frame information. main() works for a moment and then waits.
gcc -O1 -fno-omit-frame-pointer -Wl,--build-id -o "$work/whole" -x c - <<'C'
#include <unistd.h>
__asm__(".text\n.rept 100000\n.cfi_startproc\nnop\n.cfi_def_cfa_offset 32\nnop\n.cfi_adjust_cfa_offset 8\nnop\n.cfi_endproc\n.endr\n");
volatile unsigned long n;
__attribute__((noinline)) static void work(void) { for (int i = 0; i < 100000000; i++) n++; }
int main(void) { work(); for (;;) pause(); }
C

# Copies with different build-IDs, and damage in sections that the agent parses and the loader does not read.
python3 - "$work" <<'PYTHON'
import random, struct, sys
work = sys.argv[1]
whole = bytearray(open(work + "/whole", "rb").read())
shoff, = struct.unpack_from("<Q", whole, 40)
shnum, names = struct.unpack_from("<HH", whole, 60)
sections = [struct.unpack_from("<IIQQQQIIQQ", whole, shoff + 64 * i) for i in range(shnum)]
def name(section):
    at = sections[names][4] + section[0]
    return whole[at:whole.index(0, at)].decode()
by_name = {name(section): section for section in sections}
for i in range(60):
    r = random.Random(i)
    file = bytearray(whole)
    note = by_name[".note.gnu.build-id"]
    file[note[4] + 16:note[4] + 36] = r.randbytes(20)
    frames, index = by_name[".eh_frame"], by_name[".eh_frame_hdr"]
    if i >= 50:      # one byte differs, so that its table is not in the cache
        file[frames[4] + frames[5] // 2 + i] ^= 1
    elif i % 5 == 0: # random bytes
        file[frames[4]:frames[4] + frames[5]] = r.randbytes(frames[5])
    elif i % 5 == 1: # some lengths and pointers
        for _ in range(20000):
            struct.pack_into("<I", file, frames[4] + 4 * r.randrange(frames[5] // 4), r.choice([0, 1, 0xffffffff, 0x7fffffff, 0x10]))
    elif i % 5 == 2: # the index
        file[index[4]:index[4] + index[5]] = r.randbytes(index[5])
    elif i % 5 == 3: # wrong sizes of sections
        for k in range(1, shnum):
            struct.pack_into("<Q", file, shoff + 64 * k + 32, r.choice([1 << 62, len(file), 1 << 40, 0]))
    else:            # a few bits
        for _ in range(50000):
            file[frames[4] + r.randrange(frames[5])] ^= 1 << r.randrange(8)
    open(f"{work}/hostile{i}", "wb").write(file)
PYTHON
chmod +x "$work"/hostile*

start_server
start_agent --batch_interval 1s
start_workload shares 200
shares_pid=$workload_pid
wait_for_name work_a shares "$(now_s)" $(($(now_s) + 60))

next_second
from=$second
cpu_before=$(cpu_time_us "$shares_pid")
for i in {0..49}; do start_background "hostile$i" "$work/hostile$i"; done
sleep_until $((from + 20))
cpu=$(($(cpu_time_us "$shares_pid") - cpu_before))
wait_for_coverage $((from + 20))
fetch_profile "$work/shares.json" shares "$from" $((from + 19)) "{\"tag_filter\": \"process_id = $shares_pid\"}"
expect_near "microseconds of the known program" "$(total_of "$work/shares.json")" "$cpu" \
	"$(awk -v t="$(cpu_tolerance "$cpu" 20)" 'BEGIN { print t + 40000 }')"
expect_near "share of work_a" "$(share_of "$work/shares.json" work_a)" 70 8

# ---- when a compiler crashes, only the table of its file is missing
nursery=$(pgrep -P "$agent_pid" -x hearth-nursery)
kill_compilers() {
	local children name
	while true; do
		read -r children <"/proc/$nursery/task/$nursery/children" || true
		for pid in $children; do
			read -r name 2>/dev/null <"/proc/$pid/comm" || continue
			[ "$name" != hearth-compiler ] || kill -SEGV "$pid" 2>/dev/null || true
		done
	done
}
start_background killer kill_compilers
killer_pid=$background_pid
crashed() { grep -F 'unwind_tables_failed_total{reason="crashed"}' "$agent_metrics" | awk '{ exit !($2 >= 1) }'; }
for i in {50..59}; do start_background "hostile$i" "$work/hostile$i"; done
wait_until 30s crashed || true
kill -KILL "$killer_pid"
crashed || fail "no crash of a compiler was counted"
say "$(grep -E '^hearth_agent_(unwind_tables|helper_failures|samples_not_waited)' "$agent_metrics" | tr '\n' ' ')"

is_alive "$agent_pid" || fail "the agent has ended"
began_us=${EPOCHREALTIME/[.,]/}
kill -TERM "$agent_pid"
expect_within 20s has_ended "$agent_pid"
say "the agent ended within $(((${EPOCHREALTIME/[.,]/} - began_us) / 1000)) ms"
wait "$agent_pid" || fail "the agent ended with status $?"
