#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Go calls C on another stack, and C calls back Go. The stacks are complete, with the frames of both languages, up to the
# start of the goroutine. The stripped program has the same stacks: the agent takes its rows from Go's function table.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq go gcc

build_program() {
	(cd "$e2e_root/tests/workloads/go_cgo" &&
		HOME=$work GOCACHE=$work/cache GOFLAGS=-buildvcs=false nice go build -o "$work/go_cgo" .) >"$work/go.log" 2>&1 ||
		fail "go build: $(tail -n 3 "$work/go.log")"
	strip -o "$work/go_stripped" "$work/go_cgo"
	! readelf -SW "$work/go_stripped" | grep -q debug_frame || fail "the stripped program still has .debug_frame"
}

build_program
start_server
start_agent --on_cpu.frequency 397
start_background program "$work/go_cgo" 120
wait_for_name c_leaf go_cgo "$(now_s)" $(($(now_s) + 60))

next_second
from=$second
sleep_until $((from + 3))
wait_for_coverage $((from + 3))
fetch_profile "$work/go.json" go_cgo "$from" $((from + 2))
for label in runtime.asmcgocall runtime.cgocallback; do
	label=$(labels_of "$work/go.json" | grep -E "^$label(\.abi0)?$")
	say "children of $label: $(children_of "$work/go.json" "$label" | tr '\n' ' ')"
done
goexit=$(labels_of "$work/go.json" | grep -E '^runtime.goexit(\.abi0)?$')
asmcgocall=$(labels_of "$work/go.json" | grep -E '^runtime.asmcgocall(\.abi0)?$')

expect_at_least "percent that reach the start of a goroutine" "$(share_of "$work/go.json" "$goexit")" 95
children_of "$work/go.json" runtime.cgocall | grep -qxF "$asmcgocall" || fail "asmcgocall is not called by cgocall"
children_of "$work/go.json" "$asmcgocall" | grep -qxF c_work || fail "c_work is not called by asmcgocall"
# Everything in C functions is below the Go function that called them.
expect_near "share of callsC" "$(share_of "$work/go.json" main.callsC)" "$(share_of "$work/go.json" c_work)" 1
# Go functions called from C are below the C function, which is below Go functions.
expect_at_least "percent of spinInGo" "$(share_of "$work/go.json" main.spinInGo)" 15
expect_near "share of isCalledBack" "$(share_of "$work/go.json" main.isCalledBack)" \
	"$(share_of "$work/go.json" main.spinInGo)" 2
children_of "$work/go.json" crosscall2 | grep -q cgocallback || fail "cgocallback is not called by crosscall2"
end_process "$background_pid"

# Without names, the depth of the stacks shows that they are complete.
start_background stripped "$work/go_stripped" 120
expect_within 30s has_samples go_stripped "$(now_s)" $(($(now_s) + 60))
next_second
from=$second
sleep_until $((from + 3))
wait_for_coverage $((from + 3))
fetch_profile "$work/stripped.json" go_stripped "$from" $((from + 2))
expect_at_least "nodes of the stripped program" "$(jq '.result | length' "$work/stripped.json")" 10
cut=$(agent_metric stacks_cut_total) samples=$(agent_metric samples_total)
say "$cut of $samples stacks of this host were cut"
