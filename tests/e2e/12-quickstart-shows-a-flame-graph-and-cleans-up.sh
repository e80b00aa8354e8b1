#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# quickstart.sh, which most users run first.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl setsid
[ "$HEARTH_BUILD" = "$e2e_root/build" ] || skip "quickstart builds into build/, this run looks at $HEARTH_BUILD"

quickstart=$e2e_root/deploy/quickstart.sh
server_port=$(free_port)
server_url=http://127.0.0.1:$server_port
data=$work/data
export TMPDIR=$work/tmp
mkdir "$TMPDIR"

our_processes() { pgrep -f -- "$HEARTH_BUILD/bin/hearth-(agent|symbolizer).*$server_port" || true; }
nothing_is_left() { [ -z "$(our_processes)" ]; }

expect_clean() {
	expect_within 20s nothing_is_left
	expect_equal "temporary files left" "$(find "$TMPDIR" -mindepth 1 | wc -l)" 0
	[ -d "$data" ] || fail "the data folder was removed"
	port_is_free "$server_port" || fail "port $server_port is still in use"
}

# ---- quickstart runs as root, the packaged server as another user: each has a data folder
"$quickstart" --help >"$work/help"
grep -F "(default: /var/lib/hearth-quickstart)" "$work/help" >/dev/null || fail "--help does not name the default folder: $(cat "$work/help")"

# ---- quickstart shows this host, and stops after its duration
start_workload shares 120
started=$SECONDS
"$quickstart" --duration 20 --port "$server_port" --data "$data" </dev/null >"$work/quickstart.log" 2>&1 ||
	fail "quickstart failed"
say "took $((SECONDS - started)) s"
grep -F "[p] shares" "$work/quickstart.log" >/dev/null || fail "the host's busiest process is not shown"
grep -F "work_a" "$work/quickstart.log" >/dev/null || fail "the busiest function is not shown"
grep -F "$server_url/" "$work/quickstart.log" >/dev/null || fail "the page's address is not shown"
expect_clean

# ---- Ctrl-C stops quickstart; the next run has the stored data
: >"$work/second.log"
# Background commands of a script ignore SIGINT, and the program could not undo that: env restores the default.
env --default-signal=INT DEBUGINFOD_URLS="file:///nowhere http://127.0.0.1:1" \
	setsid "$quickstart" --port "$server_port" --data "$data" </dev/null >"$work/second.log" 2>&1 &
quickstart_pid=$!
started_pids+=("$quickstart_pid")
is_running() { grep -F "running until Ctrl-C" "$work/second.log" >/dev/null; }
expect_within 60s is_running
curl -sS -m 10 "$server_url/v1/services?last=1h" | grep -F '"shares"' >/dev/null || fail "the data of the first run was lost"
curl -sS -m 10 "$server_url/v1/debuginfo/0123456789abcdef/status" | grep -F '"upstream":true' >/dev/null ||
	fail "the server does not use DEBUGINFOD_URLS as upstream"

# ---- a second quickstart names the program that uses the port
if "$quickstart" --port "$server_port" --data "$work/other" </dev/null >"$work/in_use.log" 2>&1; then
	fail "two quickstarts run on one port"
fi
grep -E "port $server_port is in use by hearth-symbol.*--port" "$work/in_use.log" >/dev/null ||
	fail "the message does not name the program that uses the port: $(cat "$work/in_use.log")"

# SIGINT twice in a row, as from an impatient user.
kill -INT "$quickstart_pid"
kill -INT "$quickstart_pid"
expect_within 20s has_ended "$quickstart_pid"
expect_clean

# ---- without root
if command -v setpriv >/dev/null; then
	cp "$quickstart" "$work/quickstart.sh"
	chmod 755 "$work"
	if setpriv --reuid=65534 --regid=65534 --clear-groups bash "$work/quickstart.sh" >"$work/not_root.log" 2>&1; then
		fail "quickstart ran without root"
	fi
	grep -F "must be run as root" "$work/not_root.log" >/dev/null || fail "the message does not say that quickstart needs root"
fi
