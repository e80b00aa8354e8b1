#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `hearth upload` uploads trees, sends no file twice, and resumes the upload of a file beyond 2 GB after the client and the
# server were killed. A failed upload leaves nothing behind.
#
# This test runs beside others: it starts no agent and does not depend on the clock.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq gcc objcopy readelf sqlite3 sha256sum

# ---- a tree like /usr/lib/debug: debug files under their paths and as links, and a file that is no debug file
mkdir -p "$work/tree/usr/bin" "$work/tree/.build-id/ab" "$work/src"
for name in one two three; do
	printf 'int %s(void) { return 1; }\nint main(void) { return %s(); }\n' $name $name >"$work/src/$name.c"
	gcc -g -O0 -Wl,--build-id -o "$work/$name.full" "$work/src/$name.c"
	objcopy --only-keep-debug "$work/$name.full" "$work/tree/usr/bin/$name.debug"
	objcopy --strip-all "$work/$name.full" "$work/$name"
	ln -s "../../usr/bin/$name.debug" "$work/tree/.build-id/ab/$name.debug"
	ln "$work/tree/usr/bin/$name.debug" "$work/tree/again-$name.debug"
done
printf 'text\n' >"$work/tree/README"
one=$(readelf -n "$work/one" | sed -n 's/.*Build ID: //p')

start_server
export HEARTH_SERVER=$server_url
received() { server_metric debuginfo_upload_bytes_total; }
outcomes() { jq -r .outcome | sort | uniq -c | awk '{ printf "%s%s %s", sep, $1, $2; sep = ", " }'; }

expect_equal "outcomes of a tree" "$("$hearth" upload --recursive --json "$work/tree" | outcomes)" "1 skipped, 3 uploaded"
before=$(received)
expect_equal "outcomes of the same tree again" "$("$hearth" upload -r --json "$work/tree" | outcomes)" "3 not, 1 skipped"
expect_equal "bytes received, unchanged" "$(received)" "$before"
expect_equal "outcomes of the stripped programs" "$("$hearth" upload --json "$work"/{one,two,three} | outcomes)" "3 uploaded"
expect_equal "outcomes of files that the server has" "$("$hearth" upload --json "$work"/{one,two,three}.full | outcomes)" "3 not"
"$hearth" upload --sources-of "$one" "$work/src/one.c" >/dev/null
request GET "/buildid/$one/source$work/src/one.c"
expect_equal "the source" "$status" 200
cmp "$work/body" "$work/src/one.c" || fail "the answer differs from the source"

# ---- list, check, remove
"$hearth" debuginfo ls "$one" >"$work/ls.out"
expect_equal "files of one program" "$(grep -c "$one" "$work/ls.out")" 3
main=$(readelf -sW "$work/one.full" | awk '$8 == "one" { print $2 }')
"$hearth" symbolize --build-id "$one" "$main" >"$work/symbolize.out"
grep -w one "$work/symbolize.out" >/dev/null || fail "symbolize: $(cat "$work/symbolize.out")"
"$hearth" debuginfo check >"$work/check.out" || fail "check: $(cat "$work/check.out")"
grep -F ': 0 damaged' "$work/check.out" >/dev/null || fail "check: $(cat "$work/check.out")"
"$hearth" debuginfo rm "$one" >/dev/null
status=0
"$hearth" debuginfo ls "$one" >/dev/null 2>&1 || status=$?
expect_equal "exit status of a query for a removed file" "$status" 3

# ---- two uploads at once: one is stored, the other is not needed, and nothing is left over
for i in 1 2; do
	curl -sS -m 60 -o "$work/both.$i" -T "$work/one.full" "$server_url/v1/debuginfo/$one" &
	both[i]=$!
done
wait "${both[1]}" "${both[2]}"
expect_equal "uploads stored, of two at once" "$(jq -s '[.[] | select(.stored)] | length' "$work"/both.[12])" 1
expect_equal "incomplete content" \
	"$(sqlite3 "$server_data/debuginfo.db" 'SELECT count(*) FROM content WHERE NOT complete')" 0

# ---- a file beyond 2 GB, with the client and the server killed during the upload
size=$((2300 * 1024 * 1024))
[ "$(df --output=avail -B1 "$work" | tail -n 1)" -gt $((3 * size)) ] || skip "needs 7 GB below $work"
cp "$work/two.full" "$work/huge"
truncate -s $size "$work/huge"
printf 'the end' | dd of="$work/huge" bs=1 seek=$((size - 7)) conv=notrunc status=none
two=$(readelf -n "$work/two" | sed -n 's/.*Build ID: //p')
"$hearth" debuginfo rm "$two" >/dev/null
before=$(received)
session_bytes() { stat -c %s "$server_data"/debuginfo-session-* 2>/dev/null || echo 0; }
has_bytes() { [ "$(session_bytes)" -gt "$1" ]; }
ends_or_has_bytes() { has_bytes "$1" || has_ended "$background_pid"; }

start_background client "$hearth" upload "$work/huge"
expect_within 60s ends_or_has_bytes $((300 * 1024 * 1024))
end_process "$background_pid" KILL
kept=$(session_bytes)
say "the client was killed after $kept bytes"
expect_at_least "bytes that the server kept" "$kept" $((300 * 1024 * 1024))

start_background client "$hearth" upload "$work/huge"
client=$background_pid
expect_within 60s ends_or_has_bytes $((kept + 300 * 1024 * 1024))
stop_server KILL
say "the server was killed after $(session_bytes) bytes"
start_server
is_done() { has_ended "$client"; }
expect_within 120s is_done
wait "$client" || fail "the client gave up: $(cat "$work/client.log")"
grep -F uploaded "$work/client.log" >/dev/null || fail "$(cat "$work/client.log")"
expect_equal "the last bytes of the file" "$(curl -sS -r -7 "$server_url/buildid/$two/executable")" "the end"
expect_equal "its SHA-256" "$(curl -sS "$server_url/v1/debuginfo/$two" | jq -r .sha256)" \
	"$(sha256sum <"$work/huge" | cut -d' ' -f1)"
expect_equal "unfinished uploads left" "$(find "$server_data" -name 'debuginfo-session-*' | wc -l)" 0
expect_at_most "bytes sent after the restart, of $size" "$(received)" $((size - kept - 200 * 1024 * 1024))
stop_server

# ---- a full disk
mkdir "$work/small"
mount -t tmpfs -o size=24m none "$work/small"
at_exit+=("umount -l '$work/small'")
server_data=$work/small
start_server
"$hearth" upload "$work/three.full" >/dev/null
three=$(readelf -n "$work/three" | sed -n 's/.*Build ID: //p')
{
	cat "$work/one.full"
	head -c $((40 << 20)) /dev/urandom
} >"$work/large"
status=0
"$hearth" upload "$work/large" >"$work/full.log" 2>&1 || status=$?
expect_equal "exit status of an upload that does not fit" "$status" 1
grep -iE 'no space|507' "$work/full.log" >/dev/null || fail "the refusal does not say why: $(cat "$work/full.log")"
expect_equal "temporary files left" "$(find "$server_data" -name 'debuginfo-upload-*' | wc -l)" 0
request GET "/buildid/$three/debuginfo"
expect_equal "status of a file stored before" "$status" 200
expect_equal "outcomes of a later upload" "$("$hearth" upload --json "$work/two" | outcomes)" "1 uploaded"
