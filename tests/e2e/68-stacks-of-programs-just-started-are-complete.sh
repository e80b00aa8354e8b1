#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs that run for some milliseconds: the agent unwinds copies of their first stacks. These are complete also if the
# program is about to return from a function, is deep, or has absent pages in the middle. Samples in execve(), after the
# old memory is gone, are not counted as cut, because there is no user stack.
. "$(dirname "$0")/lib.sh"
need_root
need_workload newborn

# At 99 Hz nearly every sample is the first of its process. The BPF programs limit how many stacks they copy of second
# samples, taken before the agent knows the process; when the agent waits milliseconds for a CPU, there are many of these.
# The ring must have space for copies of 128 KiB that arrive meanwhile.
readonly LEAST_SAMPLES=250 MOST_CUT_PCT=1

# show_cuts NAME: prints the number of samples and of cut samples of processes with NAME. Fails if too many are cut.
show_cuts() {
	awk -F '\t' -v name="$1" -v least=$LEAST_SAMPLES -v most=$MOST_CUT_PCT '
		$1 == "process" { names[$2] = $5 }
		$1 == "stack" && names[$4] == name {
			all += $2
			if ($3 != "complete") { cut += $2; reasons[$3] += $2 }
		}
		END {
			printf "%s: %d of %d samples are cut", name, cut, all
			for (reason in reasons) printf ", %s %d", reason, reasons[reason]
			print ""
			exit !(all >= least && 100 * cut <= most * all)
		}' \
		"$work/dump"
}

server_url=http://127.0.0.1:$(free_port) # no server listens on this port
start_agent --batch_interval 2s --ring_size 16MiB
# A newly started agent identifies libc first, and compiles its unwind table.
cp "$workloads/newborn" "$work/first"
"$work/first" deep 6 100
next_second
from=$second

# run MODE MILLISECONDS COUNT: runs the workload under the name MODE.
run() {
	cp "$workloads/newborn" "$work/$1"
	"$work/$1" "$@"
}
run returning 20 600
run deep 6 600
run hole 6 600
run execs 0 300
next_second
stop_agent
"$HEARTH_BUILD/bin/batch_dump" "$agent_spool" "${from}000000000" "${second}000000000" >"$work/dump"
result=0
for mode in returning deep hole execs; do
	show_cuts "$mode" || result=1
done
[ $result -eq 0 ] || fail "stacks of programs that were just started are cut"
