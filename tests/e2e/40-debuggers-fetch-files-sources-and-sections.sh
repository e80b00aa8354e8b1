#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Debian's gdb, elfutils and perf use our server as their debuginfod: from the build-ID of a stripped program they get its
# functions, lines and sources.
#
# This test runs beside others: it starts no agent and does not depend on the clock.
. "$(dirname "$0")/lib.sh"
need_tools curl jq gcc objcopy readelf gdb eu-addr2line eu-stack eu-unstrip debuginfod-find zstd

export HOME=$work DEBUGINFOD_CACHE_PATH=$work/cache
unset DEBUGINFOD_URLS

# ---- a program with a debug file and a source that only the server has
mkdir -p "$work/build/src" "$work/build/obj" "$work/bin"
cat >"$work/build/src/demo.c" <<'END'
#include <stdio.h>
#include <unistd.h>

static __attribute__((noinline)) int square_of(int value)
{
	return value * value;
}

static __attribute__((noinline)) void wait_here(int value)
{
	printf("%d\n", square_of(value));
	fflush(stdout);
	pause();
}

int main(int argc, char **argv)
{
	(void)argv;
	wait_here(argc);
	return 0;
}
END
(cd "$work/build/obj" && gcc -g -O0 -Wl,--build-id -o "$work/bin/demo.full" ../src/demo.c)
objcopy --only-keep-debug "$work/bin/demo.full" "$work/demo.debug"
objcopy --strip-all "$work/bin/demo.full" "$work/bin/demo"
main_address=$(readelf -sW "$work/bin/demo.full" | awk '$8 == "square_of" { print "0x" $2 }')
id=$(readelf -n "$work/bin/demo" | sed -n 's/.*Build ID: //p')
source_path=$work/build/obj/../src/demo.c
mv "$work/build/src/demo.c" "$work/demo.c"
rm -r "$work/build" "$work/bin/demo.full"

start_server
for file in "$work/demo.debug" "$work/bin/demo"; do
	request PUT "/v1/debuginfo/$id" -T "$file"
	expect_equal "status of the upload of ${file##*/}" "$status" 200
done
request PUT "/v1/debuginfo/$id/source$source_path" --path-as-is -T "$work/demo.c"
expect_equal "status of the upload of the source" "$status" 200

# ---- the protocol
headers() { curl -sS -m 20 -o "$work/got" -D - "$@" | tr -d '\r'; }
header() { sed -n "s/^$1: //Ip"; }
answer=$(headers "$server_url/buildid/$id/debuginfo")
cmp "$work/got" "$work/demo.debug" || fail "the debuginfo differs from the uploaded file"
expect_equal "X-DEBUGINFOD-SIZE" "$(header X-DEBUGINFOD-SIZE <<<"$answer")" "$(stat -c %s "$work/demo.debug")"
expect_equal "Content-Type" "$(header Content-Type <<<"$answer")" application/octet-stream
etag=$(header ETag <<<"$answer")
modified=$(header Last-Modified <<<"$answer")
[ -n "$modified" ] || fail "no Last-Modified"
request GET "/buildid/$id/debuginfo" -H "If-None-Match: $etag"
expect_equal "status with its ETag" "$status" 304
request GET "/buildid/$id/debuginfo" -H "If-Modified-Since: $modified"
expect_equal "status with its date" "$status" 304
request HEAD "/buildid/${id^^}/executable" -I
expect_equal "status of HEAD with upper-case digits" "$status" 200
answer=$(headers -r 100-199 "$server_url/buildid/$id/executable")
cmp "$work/got" <(tail -c +101 "$work/bin/demo" | head -c 100) || fail "the range differs from that of the file"
expect_equal "Content-Range" "$(header Content-Range <<<"$answer")" "bytes 100-199/$(stat -c %s "$work/bin/demo")"
request GET "/buildid/$id/executable" -r 999999999-
expect_equal "status of a range beyond the end" "$status" 416
headers -H 'Accept-Encoding: zstd' "$server_url/buildid/$id/debuginfo" | grep -xF 'Content-Encoding: zstd' >/dev/null ||
	fail "the answer is not compressed although the client accepts zstd"
zstd -qdc "$work/got" | cmp - "$work/demo.debug" || fail "the zstd frames are not the file"
objcopy -O binary --only-section=.text "$work/bin/demo" "$work/text"
curl -sS -m 20 -o "$work/got" "$server_url/buildid/$id/section/.text"
cmp "$work/got" "$work/text" || fail "section .text is not that of the executable"

while read -r expected path; do
	request GET "$path" --path-as-is
	expect_equal "$path" "$status" "$expected"
done <<END
404 /buildid/$id/section/.nothing
404 /buildid/$id/source/etc/passwd
404 /buildid/$id/source/../../../../../../etc/passwd
404 /buildid/$id/source/%2e%2e/%2e%2e/etc/passwd
404 /buildid/../../etc/passwd/debuginfo
400 /buildid/..%00/debuginfo
400 /buildid/nothex/debuginfo
400 /buildid/0/debuginfo
404 /buildid/0011223344556677/debuginfo
404 /buildid/0011223344556677/section/.text
404 /buildid/$id/
END

# ---- the clients
export DEBUGINFOD_URLS=$server_url
cmp "$(debuginfod-find debuginfo "$id")" "$work/demo.debug" || fail "debuginfod-find debuginfo"
cmp "$(debuginfod-find executable "$id")" "$work/bin/demo" || fail "debuginfod-find executable"
cmp "$(debuginfod-find source "$id" "$source_path")" "$work/demo.c" || fail "debuginfod-find source"
[ -s "$(debuginfod-find section "$id" .debug_line)" ] || fail "debuginfod-find section"
! debuginfod-find debuginfo 0011223344556677 2>/dev/null || fail "debuginfod-find found a file that the server does not have"

rm -r "$work/cache"
named=$(eu-addr2line -f -e "$work/bin/demo" "$main_address")
say "eu-addr2line: ${named//$'\n'/ }"
[[ $named == square_of*src/demo.c:5* ]] || fail "eu-addr2line prints '$named'"

rm -r "$work/cache"
gdb -nx -batch -iex 'set debuginfod enabled on' -ex 'list square_of' -ex 'info line wait_here' "$work/bin/demo" \
	>"$work/gdb.out" 2>&1
grep -F 'return value * value;' "$work/gdb.out" >/dev/null || fail "gdb shows no source: $(cat "$work/gdb.out")"
grep -F 'demo.c' "$work/gdb.out" >/dev/null || fail "gdb shows no line: $(cat "$work/gdb.out")"

rm -r "$work/cache"
start_background demo "$work/bin/demo"
pauses() { grep -q '^1$' "$work/demo.log"; }
expect_within 10s pauses
eu-stack -p "$background_pid" >"$work/stack.out" 2>"$work/stack.err" || true
grep -w wait_here "$work/stack.out" >/dev/null || fail "eu-stack: $(cat "$work/stack.out" "$work/stack.err")"
grep -w main "$work/stack.out" >/dev/null || fail "eu-stack: $(cat "$work/stack.out")"

# perf stores executables in its cache by build-ID. A perf that was built without debuginfod does not fetch them, so the test
# passes the fetched file.
if command -v perf >/dev/null && perf --version >/dev/null 2>&1; then
	perf --buildid-dir "$work/perf" buildid-cache --add "$(debuginfod-find executable "$id")" >"$work/perf.out" 2>&1 ||
		fail "perf buildid-cache: $(cat "$work/perf.out")"
	perf --buildid-dir "$work/perf" buildid-cache --list | grep -F "$id" >/dev/null ||
		fail "perf does not know $id"
fi
expect_at_least "debuginfod requests that were answered with a file" \
	"$(curl -sS "$server_url/metrics" | sed -n 's/^hearth_symbolizer_debuginfod_requests_total{outcome="sent"} //p')" 8
