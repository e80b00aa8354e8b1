#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Requests of OTLP's profiles, which the published messages of each version serialized, are sent to a server. Flame graphs, exports and
# labels have exactly the names and sums of the requests. A request that is sent again is not counted twice. Wrong requests get a
# google.rpc.Status that names what is wrong, and a request with one wrong profile has the others stored.
#
# This test runs beside others: it starts no agent and does not depend on the clock.
. "$(dirname "$0")/lib.sh"
need_tools curl go jq nm python3 readelf sha256sum

corpus=$e2e_root/tests/fuzz/corpus
until=$(now_s)
from=$((until - 5))
range="since=$((from - 1))&until=$((until + 1))"

tokens=$work/tokens.yaml
token_of() { printf 'hearth_test_%s' "$1"; }
printf 'tokens:\n' >"$tokens"
for scope in ingest read upload; do
	printf '  - name: %s\n    sha256: %s\n    scopes: [%s]\n' $scope "$(token_of $scope | sha256sum | cut -d' ' -f1)" $scope >>"$tokens"
done
start_server --tokens "$tokens"
profiles=$server_url/v1development/profiles
export HEARTH_TOKEN
HEARTH_TOKEN=$(token_of read)
ingest=(-H "Authorization: Bearer $(token_of ingest)")
read=(-H "Authorization: Bearer $HEARTH_TOKEN")
proto=(-H 'Content-Type: application/x-protobuf')
json=(-H 'Content-Type: application/json')

# for_now FILE OUT SUFFIX: moves the times of a request to the time of the test. SUFFIX, of four letters, ends the names of its services.
for_now() {
	python3 - "$1" "$2" "$3" "$from" <<'PYTHON'
import sys

def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])

data = open(sys.argv[1], "rb").read()
begin, shifted = 1795780795 * 10**9, int(sys.argv[4]) * 10**9
replaced = [(b"go-shop", b"go-" + sys.argv[3].encode()), (b"ebpf-app", b"app-" + sys.argv[3].encode())]
for offset in (0, 10**8, 2 * 10**8, 3 * 10**8):
    for encode in (varint, lambda value: value.to_bytes(8, "little"), lambda value: str(value).encode()):
        replaced.append((encode(begin + offset), encode(shifted + offset)))
for old, new in replaced:
    assert len(old) == len(new)
    data = data.replace(old, new)
open(sys.argv[2], "wb").write(data)
PYTHON
}

# send WHAT CURL_ARGUMENT...: sends a request that must succeed; writes the answer to $work/answer.
send() {
	local what=$1
	shift
	expect_equal "$what" "$(curl -sS -m 30 -o "$work/answer" -w '%{http_code}' "${ingest[@]}" "$@" "$profiles")" 200
}

# top FILE: each function with its own and its total CPU time, as Go's pprof computes them.
top() {
	timeout 60 go tool pprof -symbolize=none -top -unit=ns -nodefraction=0 -edgefraction=0 -nodecount=100000 -sample_index=cpu "$1" \
		2>"$work/pprof.log" | awk 'found { $2 = $3 = $5 = ""; sub(/ \(inline\)$/, ""); print } $1 == "flat" { found = 1 }' | sort
}

# folded SERVICE EVENT [FILTER]: the stacks of a service with their values, without the frames of the service and the thread.
folded() {
	"$hearth" export "$1" --server "$server_url" --event "$2" --since "$((from - 1))" --until "$((until + 1))" --format folded \
		${3:+--filter "$3"} >"$work/folded"
	sed "s/^$1;//; s/^\[p\] [^;]*;//; s/^\[t\] [^;]*;//" "$work/folded" | sort
}

# check SUFFIX: the services of a request have the functions and the sums that were sent.
check() {
	local go=go-$1 app=app-$1
	"$hearth" export "$go" --server "$server_url" --event on-cpu --since "$((from - 1))" --until "$((until + 1))" --format pprof \
		-o "$work/$go.pb.gz"
	top "$corpus/import_pprof/go-cpu.pb.gz" >"$work/expected"
	top "$work/$go.pb.gz" >"$work/top"
	[ -s "$work/expected" ] || fail "Go's pprof shows nothing: $(cat "$work/pprof.log")"
	diff "$work/expected" "$work/top" || fail "$go has other functions or values than the profile that was sent"
	expect_equal "on-cpu of $go, in us" "$(total "$go" on-cpu)" 90000
	expect_equal "samples of $go" "$(total "$go" samples)" 9
	expect_equal "on-cpu of $app, in us" "$(total "$app" on-cpu)" 40000
	expect_equal "off-cpu of $app, in us" "$(total "$app" off-cpu)" 13000
	expect_equal "part of $go with a label" "$(folded "$go" on-cpu "request = 'checkout'" | awk '{ sum += $NF } END { printf "%.0f", sum }')" \
		40000000
	folded "$app" off-cpu >"$work/waits"
	grep -q 'handle.*do_syscall_64 12000000$' "$work/waits" || fail "off-cpu of $app: $(cat "$work/waits")"
	"$hearth" export "$app" --server "$server_url" --event on-cpu --since "$((from - 1))" --until "$((until + 1))" --format pprof \
		-o "$work/$app.pb.gz"
	timeout 60 go tool pprof -symbolize=none -top -lines "$work/$app.pb.gz" >"$work/lines" 2>"$work/pprof.log"
	grep -q 'handle /srv/app.py:17$' "$work/lines" || fail "the line of Python code: $(cat "$work/lines" "$work/pprof.log")"
	expect_equal "part of $app with a label" "$(total "$app" on-cpu "tenant = 'blue'")" 10000
	expect_equal "part of $app with a thread ID" "$(total "$app" on-cpu "tid = 4243 AND thread = 'worker-1'")" 40000
	expect_equal "part of $app with a container" "$(total "$app" on-cpu "container_id = 'c0ffee'")" 40000
	expect_equal "part of $go with a pod" "$(total "$go" on-cpu "pod = 'go-7f' AND pod_ns = 'shop' AND host = 'web-1' AND process_id = 4711")" \
		90000
}

# total SERVICE EVENT [FILTER]: the sum of a flame graph.
total() {
	curl -sS -m 30 -o "$work/flame" "${read[@]}" -G --data-urlencode "filter=${3:-}" "$server_url/v1/flame?service=$1&event=$2&$range&format=nodes"
	jq '.result[0].total_value' "$work/flame"
}

for version in 1.5:v105 1.7:v107 1.9:v109 1.11:v111; do
	say "version ${version%:*}"
	for_now "$corpus/import_otlp/v${version%:*}.pb" "$work/body" "${version#*:}"
	for attempt in first second; do
		send "version ${version%:*}, $attempt time" "${proto[@]}" --data-binary "@$work/body"
		expect_equal "size of the answer" "$(stat -c %s "$work/answer")" 0
	done
	check "${version#*:}"
done

say "gzip and JSON"
for_now "$corpus/import_otlp/v1.11.pb" "$work/zipped" gzip
gzip "$work/zipped"
send "gzip" "${proto[@]}" -H 'Content-Encoding: gzip' --data-binary "@$work/zipped.gz"
check gzip
for_now "$corpus/proto_json/otlp-v1.11.json" "$work/body.json" json
for attempt in first second; do
	send "JSON, $attempt time" "${json[@]}" --data-binary "@$work/body.json"
	expect_equal "the answer to JSON" "$(cat "$work/answer")" "{}"
done
check json

say "files"
for_now "$corpus/import_otlp/v1.9.pb" "$work/file.pb" file
for_now "$corpus/import_otlp/v1.5.pb" "$work/zips.pb" zips
gzip "$work/zips.pb"
for attempt in first second; do
	for file in file.pb zips.pb.gz; do
		HEARTH_TOKEN=$(token_of ingest) "$hearth" import "$work/$file" --format otlp --server "$server_url" >"$work/imported" ||
			fail "hearth import $file, $attempt time"
		expect_equal "hearth import" "$(head -n 1 "$work/imported")" "imported '$work/$file'"
	done
done
check file
check zips

say "a file that only its htlhash identifies"
need_workload stripped
address=$(nm "$workloads/stripped.debug" | awk '$3 == "work_a" { print $1 }')
htlhash=$(python3 - "$workloads/stripped" <<'PYTHON'
import hashlib, sys

data = open(sys.argv[1], "rb").read()
print(hashlib.sha256(data[:4096] + data[-4096:] + len(data).to_bytes(8, "big")).hexdigest()[:32])
PYTHON
)
jq -n --arg hash "$htlhash" --argjson address "$((16#$address + 4))" --arg time "$((from * 1000000000))" '
	{ resourceProfiles: [{ resource: { attributes: [{ key: "service.name", value: { stringValue: "by-hash" } }] },
	    scopeProfiles: [{ profiles: [{ sampleType: { typeStrindex: 1, unitStrindex: 2 }, timeUnixNano: $time, durationNano: "1000000000",
	      samples: [{ stackIndex: 1, values: ["40000000"] }] }] }] }],
	  dictionary: { stringTable: ["", "cpu", "nanoseconds", "/srv/stripped", "process.executable.build_id.htlhash", "profile.frame.type"],
	    mappingTable: [{}, { memoryLimit: "1048576", filenameStrindex: 3, attributeIndices: [1] }],
	    locationTable: [{}, { mappingIndex: 1, address: "\($address)", attributeIndices: [2] }],
	    functionTable: [{}], linkTable: [{}], stackTable: [{}, { locationIndices: [1] }],
	    attributeTable: [{}, { keyStrindex: 4, value: { stringValue: $hash } }, { keyStrindex: 5, value: { stringValue: "native" } }] } }' \
	>"$work/hash.json"
send "a frame with an htlhash" "${json[@]}" --data-binary "@$work/hash.json"
# Only the program that ran has this hash. The names are in the debug file that is uploaded for its build ID.
expect_equal "value without a name" "$(total by-hash on-cpu) $(folded by-hash on-cpu)" "40000 [stripped] 40000000"
build_id=$(readelf -n "$workloads/stripped" 2>/dev/null | sed -n 's/.*Build ID: //p')
for file in stripped stripped.debug; do
	expect_equal "upload of $file" "$(curl -sS -m 30 -o "$work/answer" -w '%{http_code}' -H "Authorization: Bearer $(token_of upload)" \
		-T "$workloads/$file" "$server_url/v1/debuginfo/$build_id")" 200
done
is_named() { [ "$(folded by-hash on-cpu)" = "work_a 40000000" ]; }
expect_within 30s is_named
expect_equal "files of the htlhash" \
	"$(curl -sS -m 10 "${read[@]}" "$server_url/v1/debuginfo/htlhash-$htlhash" | jq -r '[.build_id, .has] | join(" ")')" \
	"$build_id dwarf"

say "partial success"
jq '.resourceProfiles[0].scopeProfiles[0].profiles[1].samples[0].stackIndex = 999 | .resourceProfiles |= .[0:1]' "$work/body.json" |
	sed 's/go-json/go-part/' >"$work/part.json"
send "a request with one wrong profile" "${json[@]}" --data-binary "@$work/part.json"
expect_equal "rejected profiles" "$(jq -r '.partialSuccess.rejectedProfiles' "$work/answer")" 1
jq -e '.partialSuccess.errorMessage | test("samples.0..stack_index: stack 999")' "$work/answer" >/dev/null || fail "the reason: $(cat "$work/answer")"
expect_equal "samples of the right profile" "$(total go-part samples)" 9

# refused WHAT STATUS REASON CURL_ARGUMENT...
refused() {
	local what=$1 expected=$2 reason=$3
	shift 3
	expect_equal "status of $what" "$(curl -sS -m 30 -o "$work/answer" -w '%{http_code}' "$@" "$profiles")" "$expected"
	grep -qaF -- "$reason" "$work/answer" || fail "$what: $(cat "$work/answer")"
}
say "wrong requests"
refused "no token" 401 token "${proto[@]}" --data-binary "@$work/body"
refused "a wrong token" 401 token "${proto[@]}" -H 'Authorization: Bearer wrong' --data-binary "@$work/body"
refused "a token that only reads" 403 ingest "${proto[@]}" "${read[@]}" --data-binary "@$work/body"
refused "another type" 415 application/x-protobuf "${ingest[@]}" -H 'Content-Type: text/plain' --data-binary "@$work/body"
head -c 1000 "$work/body" >"$work/cut"
refused "a cut request" 400 "cut short" "${proto[@]}" "${ingest[@]}" --data-binary "@$work/cut"
refused "a profile of pprof" 400 ExportProfilesServiceRequest "${proto[@]}" "${ingest[@]}" --data-binary "@$corpus/import_pprof/go-cpu.pb"
refused "wrong JSON" 400 '"code":3' "${json[@]}" "${ingest[@]}" --data-binary '{"resourceProfiles":7}'
head -c 100000000 /dev/zero | gzip >"$work/zeros"
refused "a body of 100 MB in gzip" 413 "64 MiB" "${proto[@]}" "${ingest[@]}" -H 'Content-Encoding: gzip' --data-binary "@$work/zeros"
names=()
for suffix in file gzip json v105 v107 v109 v111 zips; do
	names+=("app-$suffix" "go-$suffix")
done
expect_equal "services" "$(curl -sS -m 10 "${read[@]}" "$server_url/v1/services?last=1h" | jq -r '[.services[].name] | unique | join(" ")')" \
	"$(printf '%s\n' "${names[@]}" by-hash go-part | sort | tr '\n' ' ' | sed 's/ $//')"
