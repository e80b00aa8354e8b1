#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Our server has Debian's debuginfod as its upstream. It fetches each file once, verifies it, remembers files that upstream
# lacks, and answers within a bounded time, also if two servers are each other's upstream.
#
# This test runs beside others: it starts no agent.
. "$(dirname "$0")/lib.sh"
need_tools curl jq gcc objcopy readelf debuginfod python3 sqlite3

unset DEBUGINFOD_URLS
export HOME=$work DEBUGINFOD_CACHE_PATH=$work/cache

# build NAME: writes a program with debug sections to $work/upstream and sets $id to its build-ID.
mkdir -p "$work/upstream" "$work/src"
build() {
	printf 'int main(void) { return sizeof("%s") == 1; }\n' "$1" >"$work/src/$1.c"
	gcc -g -O0 -Wl,--build-id -o "$work/$1.full" "$work/src/$1.c"
	objcopy --only-keep-debug "$work/$1.full" "$work/upstream/$1.debug"
	objcopy --strip-all "$work/$1.full" "$work/upstream/$1"
	id=$(readelf -n "$work/$1.full" | sed -n 's/.*Build ID: //p')
}
build first
first=$id
build second
second=$id
build lacking
lacking=$id
rm "$work/upstream/lacking" "$work/upstream/lacking.debug"

upstream_port=$(free_port)
start_background debuginfod debuginfod -F -d "$work/debuginfod.sqlite" -p "$upstream_port" -t 0 "$work/upstream"
upstream=http://127.0.0.1:$upstream_port
knows() { [ "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "$upstream/buildid/$1/debuginfo")" = 200 ]; }
expect_within 30s knows "$first"
expect_within 30s knows "$second"

start_server --debuginfo.upstream "$upstream"
counted() { curl -sS "$server_url/metrics" | sed -n "s/^hearth_symbolizer_upstream_fetches_total{outcome=\"$1\"} //p"; }

# ---- a file of upstream is in the answer to the first request
request GET "/buildid/$first/debuginfo"
expect_equal "a file that upstream has" "$status" 200
cmp "$work/body" "$work/upstream/first.debug" || fail "the answer differs from the file of upstream"
request GET "/buildid/$first/executable"
expect_equal "the executable" "$status" 200
cmp "$work/body" "$work/upstream/first" || fail "the answer differs from the executable of upstream"
request GET "/buildid/$first/source$work/src/first.c"
expect_equal "the source" "$status" 200
cmp "$work/body" "$work/src/first.c" || fail "the answer differs from the source of upstream"
expect_equal "fetches" "$(counted fetched)" 3
request GET "/v1/debuginfo/$first"
jq -e '.origin == "upstream" and .has == "dwarf"' "$work/body" >/dev/null || fail "wrong origin or content: $body"

# ---- concurrent requests for a file cause one fetch
for _ in {1..8}; do
	start_background "client" curl -s -m 30 -o /dev/null "$server_url/buildid/$second/debuginfo"
done
# Only a quarter of the server's workers may wait. Further requests get 503, not 404, while the file is being fetched.
has_second() {
	request GET "/buildid/$second/debuginfo"
	case $status in 200 | 503) ;; *) fail "status of a file requested by many: $status" ;; esac
	[ "$status" = 200 ]
}
expect_within 20s has_second
cmp "$work/body" "$work/upstream/second.debug" || fail "the answer differs from the file of upstream"
expect_equal "fetches" "$(counted fetched)" 4

# ---- a missing file is remembered, also after a restart, until a file is uploaded
asked() { grep -c "GET /buildid/$1/debuginfo" "$work/debuginfod.log" || true; }
request GET "/buildid/$lacking/debuginfo"
expect_equal "status of a file that upstream lacks" "$status" 404
before=$(asked "$lacking")
expect_at_least "requests to upstream" "$before" 1
stop_server
start_server --debuginfo.upstream "$upstream"
for _ in {1..5}; do
	request GET "/buildid/$lacking/debuginfo"
	expect_equal "status of the next request" "$status" 404
done
expect_equal "requests to upstream, unchanged" "$(asked "$lacking")" "$before"
expect_equal "failures recorded" "$(sqlite3 "$server_data/debuginfo.db" 'SELECT failures FROM miss')" 1
objcopy --strip-all "$work/lacking.full" "$work/lacking"
request PUT "/v1/debuginfo/$lacking" -T "$work/lacking"
expect_equal "status of an upload" "$status" 200
expect_equal "misses after the upload" "$(sqlite3 "$server_data/debuginfo.db" 'SELECT count(*) FROM miss')" 0
request GET "/buildid/$lacking/debuginfo"
expect_equal "status of a request after the upload" "$status" 404
expect_equal "requests to upstream" "$(asked "$lacking")" $((before + 1))
stop_server

# ---- a file that does not match the request is refused
mkdir -p "$work/liar/buildid/$second" "$work/liar/buildid/$first"
cp "$work/upstream/first.debug" "$work/liar/buildid/$second/debuginfo"
printf '<html>please log in</html>' >"$work/liar/buildid/$first/debuginfo"
liar_port=$(free_port)
start_background liar python3 -m http.server --bind 127.0.0.1 --directory "$work/liar" "$liar_port"
liar_answers() { ! port_is_free "$liar_port"; }
expect_within 20s liar_answers
server_data=$work/data2
start_server --debuginfo.upstream "http://127.0.0.1:$liar_port"
for lie in "$first" "$second"; do
	request GET "/buildid/$lie/debuginfo"
	expect_equal "status of a wrong file for $lie" "$status" 404
done
expect_equal "files refused" "$(counted refused)" 2
request GET /v1/debuginfo
expect_equal "files stored" "$(jq '.debuginfo | length' "$work/body")" 0
stop_server

# ---- after its first failure, an unreachable upstream costs no time
server_data=$work/data3
start_server --debuginfo.upstream "http://127.0.0.1:$(free_port)" --debuginfo.upstream "http://127.0.0.1:$(free_port)"
request GET "/buildid/$first/debuginfo"
expect_equal "status with an unreachable upstream" "$status" 404
expect_equal "fetches failed" "$(counted failed)" 1
stop_server

# ---- two servers that are each other's upstream answer at once
loop_port=$(free_port)
server_port=$(free_port)
while [ "$server_port" = "$loop_port" ]; do
	server_port=$(free_port)
done
server_data=$work/data4
start_background loop "$HEARTH_BUILD/bin/hearth-symbolizer" --listen "127.0.0.1:$loop_port" --data "$work/data5" \
	--debuginfo.upstream "http://127.0.0.1:$server_port" --debuginfo.upstream_wait 60s
start_server --debuginfo.upstream "http://127.0.0.1:$loop_port" --debuginfo.upstream_wait 60s
loop_answers() { [ "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$loop_port/readyz")" = 200 ]; }
expect_within 20s loop_answers
took=$(curl -s -m 100 -o /dev/null -w '%{http_code} %{time_total}' "$server_url/buildid/$lacking/debuginfo")
say "a miss in a loop of two servers: $took"
expect_equal "status of a miss in a loop" "${took% *}" 404
expect_at_most "seconds it took" "${took#* }" 5

# ---- with Debian's debuginfod, which does not forward our Via header, the answer takes a bounded time
stop_server
end_process "$background_pid"
server_data=$work/data6
circle_port=$(free_port)
export DEBUGINFOD_URLS=$server_url
start_background circle debuginfod -F -d "$work/circle.sqlite" -p "$circle_port" -t 0 "$work/src"
unset DEBUGINFOD_URLS
start_server --debuginfo.upstream "http://127.0.0.1:$circle_port"
circle_answers() { ! port_is_free "$circle_port"; }
expect_within 20s circle_answers
took=$(curl -s -m 100 -o /dev/null -w '%{http_code} %{time_total}' "http://127.0.0.1:$circle_port/buildid/$lacking/debuginfo")
say "a miss in a loop with debuginfod: $took"
expect_equal "a miss in a loop with debuginfod" "${took% *}" 404
expect_at_most "seconds it took" "${took#* }" 20
