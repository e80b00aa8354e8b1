#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# the sample store on one core, without HTTP: samples stored per second, bytes per sample on disk
# (compared with a plain SQLite table of the rows, one transaction per batch)
#
# Figures named segments_ are of the engine that "store: segments" selects, the others of "store: sqlite".
# Replays batches captured on this host: of busy services (store.*), of mostly idle services
# (store.light_*) and of a build (store.build_*). HEARTH_STORE_HOSTS and HEARTH_STORE_MINUTES
# change the numbers.
. "$(dirname "$0")/figures.sh"
: "${HEARTH_BENCH_CAPTURE_S:=60}"
. "$(dirname "$0")/fleet/loads.sh"
. "$(dirname "$0")/fleet/captures.sh"
need_root
need_tools python3 sqlite3 zstd cmake

hosts=${HEARTH_STORE_HOSTS:-10} minutes=${HEARTH_STORE_MINUTES:-10} max_s=${HEARTH_STORE_MAX_S:-120}
disk=$(mktemp -d "$HEARTH_BUILD/store.XXXXXX")
at_exit+=("rm -rf -- '$disk'")

# measure_store CAPTURE PREFIX
measure_store() {
	local engine prefix
	for engine in sqlite segments; do
		prefix=$2
		[ $engine = sqlite ] || prefix=${2}segments_
		mkdir "$disk/data"
		say "$hosts hosts, up to $minutes minutes of '$1', engine $engine; load of the host: $(cat /proc/loadavg)"
		"$HEARTH_BUILD/bin/store_bench" --measure --store $engine --data "$disk/data" --capture "$captures/$1" \
			--prefix "$prefix" --hosts "$hosts" --minutes "$minutes" --max-seconds "$max_s" --threads 8
		rm -rf "$disk/data"
	done
	# The same batches as segments, the format that has its definitions in the day file.
	"$HEARTH_BUILD/bin/segment_bench" --prefix "$2segment_" "$captures/$1"/*.batch
}

need_captures services light build
measure_store services store.
measure_store light store.light_
measure_store build store.build_
# Queries over segments with random samples.
"$HEARTH_BUILD/bin/segment_view_bench" --prefix store.view_
