# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Functions for benchmarks that measure a running agent, in addition to those of the end-to-end
# tests.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

# The default of the product, so that figures are valid for users.
agent_batch_interval=5s

# Messages go to standard error: standard output holds figures only.
say() { printf '# %s\n' "$*" >&2; }

# figure NAME VALUE UNIT
figure() { printf '%s %s %s\n' "$1" "$2" "$3"; }

# ratio NAME OURS THEIRS: prints no figure if THEIRS is too small to be measured
ratio() {
	if awk -v theirs="$3" 'BEGIN { exit !(theirs > 0) }'; then
		figure "$1" "$(calculate "$2 / $3" %.2f)" x
	else
		say "$1: theirs is too small to be measured"
	fi
}

# calculate EXPRESSION [FORMAT]
calculate() { awk "BEGIN { printf \"${2:-%.4f}\", ($1) }"; }

# status_kib PID FIELD: prints a field of /proc/PID/status
status_kib() { sed -n "s/^$2:[[:space:]]*\([0-9]*\).*/\1/p" "/proc/$1/status"; }

# Prints utime + stime of the programs and their children, in microseconds.
cpu_time_of_us() {
	local pid sum=0
	for pid in "$@"; do
		sum=$((sum + $(cpu_time_us "$pid")))
	done
	printf '%d' $sum
}

# Prints the nanoseconds that the BPF programs of PID have run while statistics were enabled.
bpf_time_ns() {
	local info
	for info in /proc/"$1"/fdinfo/*; do
		awk '/^prog_id:/ { id = $2 } /^run_time_ns:/ { time = $2 } END { if (id) print id, time }' "$info" 2>/dev/null || true
	done | sort -u -k1,1n | awk '{ sum += $2 } END { printf "%.0f", sum }'
}

# Prints the bytes of the BPF maps and rings of PID, as the kernel accounts them.
bpf_map_bytes() {
	local info
	for info in /proc/"$1"/fdinfo/*; do
		awk '/^map_id:/ { id = $2 } /^memlock:/ { bytes = $2 } END { if (id) print id, bytes }' "$info" 2>/dev/null || true
	done | sort -u -k1,1n | awk '{ sum += $2 } END { printf "%.0f", sum }'
}

# Measuring the time of a BPF program costs two clock reads a run. Only benchmarks enable it.
enable_bpf_statistics() {
	local before
	before=$(cat /proc/sys/kernel/bpf_stats_enabled)
	at_exit+=("echo $before >/proc/sys/kernel/bpf_stats_enabled")
	echo 1 >/proc/sys/kernel/bpf_stats_enabled
}
