# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Captures: the batches that an agent sends on this host under a load, kept by a sink that answers
# like a server. Needs the functions of figures.sh and loads.sh, and root.
#
# HEARTH_BENCH_CAPTURES names a folder in which captures are kept and found again. Without it each
# benchmark makes its own.

capture_s=${HEARTH_BENCH_CAPTURE_S:-90}

has_port() { [ -s "$work/sink.log" ] || has_ended "$1"; }

# end_loads FIRST: ends the processes started since started_pids had FIRST entries
end_loads() {
	local pid
	for pid in "${started_pids[@]:$1}"; do
		end_process "$pid"
	done
}

# make_capture NAME START_LOAD: runs an agent for $capture_s under the load that the function
# START_LOAD starts, and keeps its batches in $captures/NAME.
make_capture() {
	local name=$1 first=${#started_pids[@]}
	say "capturing the batches of a host for $capture_s s: $name"
	mkdir -p "$captures"
	rm -f "$work/sink.log"
	start_background sink "$HEARTH_BUILD/bin/capture_sink" "$captures/$name.new"
	expect_within 10s has_port "$background_pid"
	server_url=http://127.0.0.1:$(cat "$work/sink.log")
	agent_spool=$work/spool.$name agent_returns_with=report
	"$2" $((capture_s + 60))
	rm -f "$work/agent.metrics"
	start_agent
	sleep_until $(($(now_s) + capture_s))
	stop_agent
	end_loads "$first"
	mv "$captures/$name.new" "$captures/$name"
}

# need_captures NAME...: light (services on a mostly idle host), services (the same kinds of work on
# all CPUs), build (a build on all CPUs). Sets $captures.
need_captures() {
	local name load
	captures=${HEARTH_BENCH_CAPTURES:-$work/captures}
	for name in "$@"; do
		case $name in
		light) load=start_light_services ;;
		services) load=start_services ;;
		build) load=start_builds ;;
		*) fail "there is no capture '$name'" ;;
		esac
		[ -d "$captures/$name" ] || make_capture "$name" "$load"
	done
}
