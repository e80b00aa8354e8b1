#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# a server with 100 and 1 000 agents: time of answers, /healthz, fsyncs; every sample is stored once
# (compared with a loop that appends the same batches to a file with one fdatasync each)
#
# The agents replay batches captured on this host: 90 % those of a mostly idle host with services,
# 10 % those of a build. Other programs on this host are captured too. HEARTH_FLEET_AGENTS, HEARTH_FLEET_SECONDS and HEARTH_FLEET_BUILD_PCT change
# the numbers. The figures of the largest number of agents have no number in their names.
. "$(dirname "$0")/figures.sh"
: "${HEARTH_BENCH_CAPTURE_S:=150}"
. "$(dirname "$0")/fleet/loads.sh"
. "$(dirname "$0")/fleet/captures.sh"
need_root
need_tools curl python3 sqlite3 zstd cmake

agents=${HEARTH_FLEET_AGENTS:-100 1000} seconds=${HEARTH_FLEET_SECONDS:-60}
build_pct=${HEARTH_FLEET_BUILD_PCT:-10}
largest=$(tr ' ' '\n' <<<"$agents" | sort -n | tail -n 1)

# The server's data is on the disk of the build folder: /tmp may be in memory.
disk=$(mktemp -d "$HEARTH_BUILD/fleet.XXXXXX")
at_exit+=("rm -rf -- '$disk'")

# measure_fleet AGENTS: with a new server
measure_fleet() {
	local number=$1 prefix=fleet result=0
	[ "$number" = "$largest" ] || prefix=fleet.agents_$number
	server_port='' server_data=$disk/data-$number
	start_server
	say "$number agents for $seconds s; load of the host: $(cat /proc/loadavg)"
	"$HEARTH_BUILD/bin/fleet_bench" --server "$server_url" --pid "$server_pid" --data "$disk" \
		--agents "$number" --seconds "$seconds" --prefix "$prefix" --syncs "$work/syncs" \
		--capture "$captures/light:$((100 - build_pct))" --capture "$captures/build:$build_pct" ||
		result=1
	say "load of the host: $(cat /proc/loadavg)"
	stop_server
	rm -rf "$server_data"
	return $result
}

# Runs the server with the library that counts its fsyncs.
server_binary=$work/counted-server
cat >"$server_binary" <<-END
	#!/bin/sh
	export HEARTH_SYNC_COUNT='$work/syncs' LD_PRELOAD='$HEARTH_BUILD/bin/sync_count.so'
	exec '$HEARTH_BUILD/bin/hearth-symbolizer' "\$@"
END
chmod +x "$server_binary"

need_captures light build
result=0
for number in $agents; do
	measure_fleet "$number" || result=1
done
[ $result = 0 ] || fail "the server's sums are wrong, or it did not store all batches"
