#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Profiles of Go and Node.js, recorded by their own profilers, are sent to a server as pprof, as Pyroscope's SDK for Node.js
# and as Alloy send them. Flame graphs and exports have exactly the names and sums that Go's pprof shows for the files. A
# request that is sent again is not counted twice.
#
# This test runs beside others: it starts no agent and does not depend on the clock.
. "$(dirname "$0")/lib.sh"
need_tools curl go jq python3

profiles=$e2e_root/tests/fuzz/corpus/import_pprof
until=$(now_s)
from=$((until - 5))
range="from=$from&until=$until"
start_server

# top FILE TYPE UNIT: each function with its own and its total value, as Go's pprof computes them. Inlined functions of the
# file are frames of their own in the export.
top() {
	timeout 60 go tool pprof -symbolize=none -top -unit="$3" -nodefraction=0 -edgefraction=0 -nodecount=100000 -sample_index="$2" "$1" \
		2>"$work/pprof.log" | awk 'found { $2 = $3 = $5 = ""; sub(/ \(inline\)$/, ""); print } $1 == "flat" { found = 1 }' | sort
}

# check SERVICE EVENT FILE TYPE EXPORTED_TYPE UNIT: the export of the event has the functions and values of the file.
check() {
	"$hearth" export "$1" --server "$server_url" --event "$2" --since "$((from - 1))" --until "$((until + 1))" --format pprof \
		-o "$work/$1-$2.pb.gz"
	top "$3" "$4" "$6" >"$work/expected"
	top "$work/$1-$2.pb.gz" "$5" "$6" >"$work/top"
	[ -s "$work/expected" ] || fail "Go's pprof shows nothing for $3: $(cat "$work/pprof.log")"
	diff "$work/expected" "$work/top" || fail "$2 of $1 has other functions or values than $3"
}

# send WHAT CURL_ARGUMENT...: sends a request that must succeed; writes the answer to $work/answer.
send() {
	local what=$1
	shift
	expect_equal "$what" "$(curl -sS -m 30 -o "$work/answer" -w '%{http_code}' "$@")" 200
}

say "pprof"
for attempt in first second; do
	for name in go-cpu go-heap; do
		send "$name, $attempt time" --data-binary "@$profiles/$name.pb.gz" "$server_url/v1/profile/pprof?service=go&$range"
	done
done
expect_equal "the answer to a retry" "$(jq -c '[.profiles_stored, .profiles_known]' "$work/answer")" "[0,1]"
expect_equal "the range of the profile" "$(jq -c '[.since, .until]' "$work/answer")" "[$from,$until]"
check go on-cpu "$profiles/go-cpu.pb.gz" cpu cpu ns
check go mem-alloc "$profiles/go-heap.pb.gz" alloc_space alloc_space B
check go mem-inuse "$profiles/go-heap.pb.gz" inuse_space inuse_space B
"$hearth" export go --server "$server_url" --since "$((from - 1))" --until "$((until + 1))" --format folded --filter "request = 'checkout'" \
	>"$work/folded"
expect_equal "the part with a label" "$(awk '{ sum += $NF } END { printf "%.0f\n", sum }' "$work/folded")" 40000000
grep -q ';runtime.main;main.main;runtime/pprof.Do;main.main.func1;main.outer;main.inner;main.spin' "$work/folded" ||
	fail "an inlined function is missing: $(cat "$work/folded")"
curl -sS -m 30 -o "$work/flame" "$server_url/v1/flame?service=go&since=$((from - 1))&until=$((until + 1))&format=nodes"
expect_equal "total of the flame graph, in microseconds" "$(jq '.result[0].total_value' "$work/flame")" 90000

say "Pyroscope's SDK for Node.js"
name='shop%7Bprocess.runtime.name%3Dnodejs%2Cregion%3Deu%7D'
for attempt in first second; do
	for kind in wall heap; do
		send "node-$kind, $attempt time" -H 'Content-Type: application/octet-stream' --data-binary "@$profiles/node-$kind.pb.gz" \
			"$server_url/ingest?format=pprof&name=$name&spyName=nodespy&sampleRate=17&$range"
	done
done
check shop wall "$profiles/node-wall.pb.gz" wall wall ns
check shop on-cpu "$profiles/node-wall.pb.gz" cpu cpu ns
check shop mem-inuse "$profiles/node-heap.pb.gz" inuse_space inuse_space B
send "a form" -F "profile=@$profiles/go-cpu.pb.gz;filename=profile.pprof" "$server_url/ingest?name=form&$range"
check form on-cpu "$profiles/go-cpu.pb.gz" cpu cpu ns
send "folded stacks" --data-binary $'main;work 7\nmain 3\n' "$server_url/ingest?name=folded&sampleRate=100&$range"
curl -sS -m 30 -o "$work/folded" "$server_url/v1/export?service=folded&since=$((from - 1))&until=$((until + 1))&format=folded"
expect_equal "folded stacks" "$(sed 's/^folded;//; s/^\[p\] folded;//' "$work/folded" | sort | tr '\n' ' ')" "main 30000000 main;work 70000000 "

say "push.v1.PusherService/Push"
# A PushRequest with the labels service_name and __name__ and one profile. The time is that of the profile.
python3 - "$profiles/go-cpu.pb" "$from" "$work/push.json" "$work/push.pb" <<'PYTHON'
import base64, json, sys

def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])

def field(number, content):
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content

def labels(service):
    return [("service_name", service), ("__name__", "process_cpu")]

# The last field of a message wins: time_nanos and duration_nanos are replaced.
profile = open(sys.argv[1], "rb").read() + field(9, int(sys.argv[2]) * 10**9) + field(10, 3 * 10**9)
json.dump({"series": [{"labels": [{"name": n, "value": v} for n, v in labels("push-json")],
                       "samples": [{"rawProfile": base64.b64encode(profile).decode(), "ID": "1"}]}]}, open(sys.argv[3], "w"))
series = b"".join(field(1, field(1, n.encode()) + field(2, v.encode())) for n, v in labels("push-proto"))
open(sys.argv[4], "wb").write(field(1, series + field(2, field(1, profile))))
PYTHON
gzip -k "$work/push.pb"
jq -r '.series[0].samples[0].rawProfile' "$work/push.json" | base64 -d >"$work/file.pb"
for attempt in first second; do
	"$hearth" import "$work/file.pb" --service file --server "$server_url" >"$work/imported" || fail "hearth import, $attempt time"
done
expect_equal "hearth import" "$(head -n 1 "$work/imported")" "imported '$work/file.pb' as service 'file'"
sed -n 's/^to see it: hearth //p' "$work/imported" | HEARTH_SERVER=$server_url xargs "$hearth" >"$work/seen" ||
	fail "the printed command shows nothing: $(cat "$work/imported")"
check file on-cpu "$profiles/go-cpu.pb.gz" cpu cpu ns
status=0
"$hearth" import "$work/push.json" --service bad --server "$server_url" 2>"$work/imported" || status=$?
expect_equal "status of hearth import with a wrong file" "$status" 1
grep -q protobuf "$work/imported" || fail "the reason is missing: $(cat "$work/imported")"
push=$server_url/push.v1.PusherService/Push
send "protobuf" -H 'Content-Type: application/proto' --data-binary "@$work/push.pb" "$push"
send "protobuf, with gzip" -H 'Content-Type: application/proto' -H 'Content-Encoding: gzip' --data-binary "@$work/push.pb.gz" "$push"
send "JSON" -H 'Content-Type: application/json' --data-binary "@$work/push.json" "$push"
expect_equal "the answer to JSON" "$(cat "$work/answer")" "{}"
for service in push-proto push-json; do
	check $service on-cpu "$profiles/go-cpu.pb.gz" cpu cpu ns
done

# refused WHAT STATUS REASON CURL_ARGUMENT...
refused() {
	local what=$1 expected=$2 reason=$3
	shift 3
	expect_equal "status of $what" "$(curl -sS -m 30 -o "$work/answer" -w '%{http_code}' "$@")" "$expected"
	grep -qF -- "$reason" "$work/answer" || fail "$what: $(cat "$work/answer")"
}
say "wrong requests"
head -c 300 "$profiles/go-cpu.pb.gz" >"$work/cut"
refused "a cut profile" 400 gzip --data-binary "@$work/cut" "$server_url/v1/profile/pprof?service=bad"
refused "no service" 400 service --data-binary "@$work/cut" "$server_url/v1/profile/pprof"
refused "an unknown format" 400 "format 'jfr'" --data-binary "@$work/cut" "$server_url/ingest?name=bad&format=jfr"
refused "a wrong time" 400 from --data-binary "@$work/cut" "$server_url/ingest?name=bad&from=x"
refused "no form" 400 profile -F "other=1" "$server_url/ingest?name=bad"
refused "a wrong message" 400 '"invalid_argument"' -H 'Content-Type: application/proto' --data-binary x "$push"
refused "wrong JSON" 400 rawProfile -H 'Content-Type: application/json' --data-binary '{"series":[{"samples":[{}]}]}' "$push"
head -c 100000000 /dev/zero | gzip >"$work/zeros"
refused "a body of 100 MB in gzip" 413 "64 MiB" --data-binary "@$work/zeros" "$server_url/v1/profile/pprof?service=bad"
expect_equal "services" "$(curl -sS -m 10 "$server_url/v1/services?last=1h" | jq -r '[.services[].name] | unique | join(" ")')" \
	"file folded form go push-json push-proto shop"
