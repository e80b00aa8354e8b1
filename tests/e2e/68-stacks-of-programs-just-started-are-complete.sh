#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs that live for some milliseconds: the agent unwinds copies of their first stacks. Those that are about to return
# from a function, that are deep, or that have absent pages in the middle are whole too; and what a program does in
# execve() after its old memory is gone is not a cut stack, as there is no user stack at all.
. "$(dirname "$0")/lib.sh"
need_root
need_workload newborn

# At 99 Hz nearly every sample is the first of its process. A second one that comes before the agent knows the process is
# copied only while few others are, and where the agent waits for a CPU for milliseconds, many are. The ring has room for
# copies of 128 KiB that come meanwhile.
readonly LEAST_SAMPLES=250 MOST_CUT_PCT=1

# show_cuts NAME: samples of processes of that name, and of them those that are cut, and whether these are too many.
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

server_url=http://127.0.0.1:$(free_port) # nobody listens there
start_agent --batch_interval 2s --ring_size 16MiB
# An agent that has just started identifies libc first, and makes its unwind table.
cp "$workloads/newborn" "$work/first"
"$work/first" deep 6 100
next_second
from=$second

# run MODE MILLISECONDS COUNT
run() {
	cp "$workloads/newborn" "$work/$1"
	"$work/$1" "$@"
}
run returning 20 600
run deep 6 600
run hole 6 600
run execs 0 150
next_second
stop_agent
"$HEARTH_BUILD/bin/batch_dump" "$agent_spool" "${from}000000000" "${second}000000000" >"$work/dump"
result=0
for mode in returning deep hole execs; do
	show_cuts "$mode" || result=1
done
[ $result -eq 0 ] || fail "stacks of programs that just began are cut"
