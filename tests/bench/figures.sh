# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Words for benchmarks that measure a running agent, on top of those of the end-to-end tests.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

# The product's default: what is measured is what users have.
agent_batch_interval=5s

# Messages go to standard error: standard output holds figures only.
say() { printf '# %s\n' "$*" >&2; }

# figure NAME VALUE UNIT
figure() { printf '%s %s %s\n' "$1" "$2" "$3"; }

# ratio NAME OURS THEIRS: none where theirs is too small to be measured
ratio() {
	if awk -v theirs="$3" 'BEGIN { exit !(theirs > 0) }'; then
		figure "$1" "$(calculate "$2 / $3" %.2f)" x
	else
		say "$1: theirs is too small to be measured"
	fi
}

# calculate EXPRESSION [FORMAT]
calculate() { awk "BEGIN { printf \"${2:-%.4f}\", ($1) }"; }

# status_kib PID FIELD: of /proc/PID/status
status_kib() { sed -n "s/^$2:[[:space:]]*\([0-9]*\).*/\1/p" "/proc/$1/status"; }

# One program or several, with their children: utime + stime in microseconds.
cpu_time_of_us() {
	local pid sum=0
	for pid in "$@"; do
		sum=$((sum + $(cpu_time_us "$pid")))
	done
	printf '%d' $sum
}

# Nanoseconds that the BPF programs of PID have run, while statistics are on.
bpf_time_ns() {
	local info
	for info in /proc/"$1"/fdinfo/*; do
		awk '/^prog_id:/ { id = $2 } /^run_time_ns:/ { time = $2 } END { if (id) print id, time }' "$info" 2>/dev/null || true
	done | sort -u -k1,1n | awk '{ sum += $2 } END { printf "%.0f", sum }'
}

# Bytes of the BPF maps and rings of PID, as the kernel accounts them.
bpf_map_bytes() {
	local info
	for info in /proc/"$1"/fdinfo/*; do
		awk '/^map_id:/ { id = $2 } /^memlock:/ { bytes = $2 } END { if (id) print id, bytes }' "$info" 2>/dev/null || true
	done | sort -u -k1,1n | awk '{ sum += $2 } END { printf "%.0f", sum }'
}

# Counting a program's time costs two clock reads a run; it is on only while a benchmark looks.
enable_bpf_statistics() {
	local before
	before=$(cat /proc/sys/kernel/bpf_stats_enabled)
	at_exit+=("echo $before >/proc/sys/kernel/bpf_stats_enabled")
	echo 1 >/proc/sys/kernel/bpf_stats_enabled
}
