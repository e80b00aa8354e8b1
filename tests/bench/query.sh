#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# answers over HTTP about many hosts and hours: 15 minutes of a service, a whole day, Total, services
# (compared with SQL sums by stack over a plain SQLite table with an index)
#
# The store is filled with replayed batches of mostly idle services: HEARTH_QUERY_HOSTS (100) hosts
# and HEARTH_QUERY_MINUTES (60) minutes, as far as they can be written in HEARTH_QUERY_FILL_S (180)
# seconds. The full size is 100 hosts and 1440 minutes with HEARTH_QUERY_FILL_S=0, which is no limit.
# "day" in the names of figures is the whole time in the store. HEARTH_SYMBOLIZER_STORE=segments
# selects the engine, as for the server itself.
. "$(dirname "$0")/figures.sh"
. "$(dirname "$0")/fleet/loads.sh"
. "$(dirname "$0")/fleet/captures.sh"
need_root
need_tools curl jq python3 zstd

hosts=${HEARTH_QUERY_HOSTS:-100} minutes=${HEARTH_QUERY_MINUTES:-60} fill_s=${HEARTH_QUERY_FILL_S:-180}
service=${HEARTH_QUERY_SERVICE:-python3} seconds=${HEARTH_QUERY_SECONDS:-20}
engine=${HEARTH_SYMBOLIZER_STORE:-sqlite}
disk=$(mktemp -d "$HEARTH_BUILD/query.XXXXXX")
at_exit+=("rm -rf -- '$disk'")

# Debuginfo of what the service runs, as far as this host has it: answers then have names.
upload_symbols() {
	local file
	for file in "$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')" /lib/x86_64-linux-gnu/libc.so.6 \
		/usr/lib/x86_64-linux-gnu/libsqlite3.so.0; do
		[ ! -e "$file" ] || "$hearth" upload --server "$server_url" "$file" >>"$work/upload.log" 2>&1 ||
			say "cannot upload $file"
	done
}

need_captures light
say "filling the store; load of the host: $(cat /proc/loadavg)"
server_data=$disk/data
mkdir "$server_data"
read -r _ from to samples < <("$HEARTH_BUILD/bin/store_bench" --store "$engine" --data "$server_data" --capture "$captures/light" \
	--hosts "$hosts" --minutes "$minutes" --max-seconds "$fill_s" --threads 8 --peer "$disk/peer.db" | grep '^filled ') ||
	fail "the store could not be filled"
figure query.hosts "$hosts" hosts
figure query.minutes "$(calculate "($to - $from) / 60" %.1f)" minutes
figure query.samples "$samples" samples
figure query.disk_bytes "$(du -sb "$server_data" | cut -f1)" bytes
start_server
upload_symbols
result=0
say "asking; load of the host: $(cat /proc/loadavg)"
"$HEARTH_BUILD/bin/query_bench" --server "$server_url" --hosts "$hosts" --from "$from" --to "$to" --service "$service" \
	--seconds "$seconds" --peer "$disk/peer.db" | tee "$work/answers" || result=1
figure query.rss_peak_bytes $(($(status_kib "$server_pid" VmHWM) * 1024)) bytes
# The time of one whole answer, by the name of its aim.
figure query.day_all_ms "$(sed -n 's/^query.p50_day_all_ms \([0-9.]*\) .*/\1/p' "$work/answers")" ms
answer() { sed -n "s/^query.$1_ms \([0-9.]*\) .*/\1/p" "$work/answers"; }
for question in p99_10_hosts p99_100_hosts p50_day_all; do
	[ -z "$(answer "$question")" ] || ratio "query.${question}_ratio" "$(answer "$question")" "$(answer "peer_$question")"
done
[ $result = 0 ] || fail "there is no answer to a question"
