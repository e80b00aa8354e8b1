#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# SIGKILL of the helper, or of the server with its helper, during a compilation leaves no partial table.
#
# This test runs beside others: it starts no agent and does not depend on the clock.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq gcc readelf

start_server

# A program whose table takes seconds to compile: many functions with many inlined functions.
id=dddd0000000000000000000000000000000000d1
{
	printf 'volatile int sink;\n'
	printf 'static inline __attribute__((always_inline)) void leaf(int x) { sink = x; }\n'
	for i in {1..1500}; do
		printf 'static inline __attribute__((always_inline)) void mid%d(int x) { leaf(x); leaf(x + %d); }\n' "$i" "$i"
		printf 'void f%d(int x) { mid%d(x); mid%d(x * 3); leaf(x); }\n' "$i" "$i" "$i"
	done
	printf 'int main(void) { return 0; }\n'
} >"$work/large.c"
gcc -O1 -g "-Wl,--build-id=0x$id" -o "$work/large" "$work/large.c"
request PUT "/v1/debuginfo/$id" -T "$work/large"
expect_equal "status of the upload" "$status" 200

ask() { curl -s -m 20 -o "$work/status.json" "$server_url/v1/debuginfo/$id/status"; }
table_status() { ask && jq -r .table.status "$work/status.json"; }
helper_of() { pgrep -P "$1" | head -n 1 || true; }

# The helper installs its seccomp filter before it reads anything, and after it has set its parent-death signal.
is_compiling() { grep -q '^Seccomp:[[:space:]]*2' "/proc/$1/status" 2>/dev/null; }

# stop_a_helper: stops a helper during a compilation and sets $helper to its pid. Helpers are fast: the function starts
# compilations until it catches one.
stop_a_helper() {
	local i
	for i in {1..200}; do
		ask
		helper=$(helper_of "$server_pid")
		if [ -n "$helper" ] && kill -STOP "$helper" 2>/dev/null; then
			[ "$(process_state "$helper")" = T ] && is_compiling "$helper" && return
			kill -CONT "$helper" 2>/dev/null || true
		fi
		[ "$(jq -r .table.status "$work/status.json")" = "table pending" ] || forget
	done
	fail "no helper was caught during a compilation"
}

# forget: removes the file and its table and uploads the file again, so that the server compiles the table again.
forget() {
	request DELETE "/v1/debuginfo/$id"
	request PUT "/v1/debuginfo/$id" -T "$work/large"
}

# ---- when the server is killed, its helper ends too
stop_a_helper
say "helper $helper is stopped during a compilation"
stop_server KILL
expect_within 10s has_ended "$helper"
say "the helper has ended with the server"
! find "$server_data/symbols" -type f | grep . || fail "a part of the table is left"
start_server
expect_within 60s eval '[ "$(table_status)" = ready ]'
say "the restarted server has compiled the table"

# ---- when the helper is killed, the server reports it and keeps running
forget
stop_a_helper
kill -KILL "$helper"
expect_within 30s eval '[ "$(table_status)" = "table failed" ]'
jq -e '.table.why | contains("SIGKILL")' "$work/status.json" >/dev/null || fail "wrong reason: $(cat "$work/status.json")"
is_alive "$server_pid" || fail "the server has ended with its helper"
! find "$server_data/symbols" -type f | grep . || fail "a part of the table is left"
request POST /v1/symbolize --data-binary "{\"build_id\": \"$id\", \"addresses\": [4096]}"
expect_equal "status of a frame" "$(jq -r '.frames[0].status' "$work/body")" "table failed"

# ---- a restarted server uses the table on disk
forget
expect_within 60s eval '[ "$(table_status)" = ready ]'
made=$(server_metric symbol_tables_total)
stop_server
start_server
expect_equal "status of the table after a restart" "$(table_status)" ready
expect_equal "tables compiled after a restart" "$(server_metric symbol_tables_total)" 0
say "tables compiled before the restart: $made"
