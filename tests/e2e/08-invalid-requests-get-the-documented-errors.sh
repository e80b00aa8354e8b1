#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The server answers every invalid request as the API documents, and neither crashes nor leaks memory. The test uses the
# server that was built with sanitizers, if there is one.
#
# This test runs beside others: it starts no agent and does not depend on the clock.
. "$(dirname "$0")/lib.sh"
need_tools curl jq zstd objcopy

# Repeating all invalid requests must not make memory grow; allocators keep some of it.
readonly MAX_GROWTH_KIB=24576 ROUNDS=3 RANDOM_BODIES=60

if [ -x "$HEARTH_BUILD_SANITIZE/bin/hearth-symbolizer" ]; then
	server_binary=$HEARTH_BUILD_SANITIZE/bin/hearth-symbolizer
	# A short quarantine, so that freed memory does not count as memory in use.
	export ASAN_OPTIONS=quarantine_size_mb=1:malloc_context_size=20 UBSAN_OPTIONS=print_stacktrace=1
else
	say "no sanitized build in $HEARTH_BUILD_SANITIZE: the release build is tested"
fi
start_server

# ---- ProfileTracing -------------------------------------------------------------------------------------------------

valid='{"app_service":"x","profile_event_type":"on-cpu","profile_language_type":"eBPF","time_start":1,"time_end":2}'

tracing() { request POST /v1/profile/ProfileTracing -H 'Content-Type: application/json' --data-binary "$1"; }

# expect_envelope WHAT STATUS OPT_STATUS: the answer has all four keys and a reason.
expect_envelope() {
	[ "$status" = "$2" ] || fail "$1: status $status, expected $2: $body"
	jq -e --arg opt "$3" 'keys == ["DESCRIPTION", "OPT_STATUS", "debug", "result"] and .OPT_STATUS == $opt
		and .DESCRIPTION != "" and .result == null' "$work/body" >/dev/null || fail "$1: unexpected body: $body"
}

refused_bodies() {
	printf '%s\n' '' 'no json' '[]' '"text"' '42' 'null' '{' '{"app_service":}' '{}'
	# Each required key: missing, null, of other types, and zero or empty.
	local key
	for key in profile_event_type profile_language_type time_start time_end; do
		jq -c "del(.$key)" <<<"$valid"
		jq -c ".$key = null" <<<"$valid"
		jq -c ".$key = {}" <<<"$valid"
		jq -c ".$key = true" <<<"$valid"
		jq -c ".$key = (if .$key | type == \"number\" then 0 else \"\" end)" <<<"$valid"
		jq -c ".$key = (if .$key | type == \"number\" then \"1\" else 1 end)" <<<"$valid"
	done
	jq -c '.time_start = -1' <<<"$valid"
	jq -c '.time_end = 1.5' <<<"$valid"
	jq -c '.time_end = 99999999999999' <<<"$valid"
	jq -c '.app_service = 7' <<<"$valid"
	jq -c '.tag_filter = 7' <<<"$valid"
	jq -c '.debug = "yes"' <<<"$valid"
	jq -c '.format = "xml"' <<<"$valid"
	jq -c '.max_kernel_stack_depth = -2' <<<"$valid"
	jq -c '.max_kernel_stack_depth = "all"' <<<"$valid"
	jq -c '.max_nodes = -1' <<<"$valid"
	# Filters
	local filter
	for filter in 'host' 'host =' '= "a"' 'host = "a' '(host = "a"' 'host = "a")' 'host ! "a"' 'host = "a" AND' \
		'host IN ()' 'host IN ("a"' 'no_such_tag = 1' 'host REGEXP "("' 'ip = "300.1.1.1/99"' \
		'1=1; DROP TABLE samples' "host = 'a' UNION SELECT 1"; do
		jq -c --arg f "$filter" '.tag_filter = $f' <<<"$valid"
	done
	jq -c --arg f "$(printf '(%.0s' {1..3000})" '.tag_filter = $f' <<<"$valid"
	jq -c --arg f "$(printf 'NOT %.0s' {1..3000})host=1" '.tag_filter = $f' <<<"$valid"
}

check_tracing() {
	local one count=0
	while IFS= read -r one; do
		tracing "$one"
		expect_envelope "body '${one:0:160}'" 400 INVALID_POST_DATA
		count=$((count + 1))
	done < <(refused_bodies)

	tracing "$(jq -c '.app_service = "no such service"' <<<"$valid")"
	expect_envelope "an unknown service" 200 SUCCESS
	tracing "$(jq -c '. + {app_service: "Total", unknown_key: [1, {}], TIME_END: 2}' <<<"$valid")"
	expect_envelope "Total without data, an unknown key, another case" 200 SUCCESS

	for one in '.time_start = 3' '.profile_event_type = "on-fire"' '.profile_language_type = "COBOL"'; do
		tracing "$(jq -c "$one" <<<"$valid")"
		expect_envelope "a request that no sample can meet, $one" 200 SUCCESS
	done

	head -c 2097152 /dev/zero | tr '\0' ' ' >"$work/large"
	request POST /v1/profile/ProfileTracing --data-binary "@$work/large"
	expect_envelope "a body of 2 MiB" 413 INVALID_POST_DATA
	request GET /v1/profile/ProfileTracing
	[ "$status" = 405 ] || fail "GET of a POST path: $status"
	say "$count invalid ProfileTracing bodies were refused"
}

# ---- DeepFlow's Grafana plugin ---------------------------------------------------------------------------------------

refused_conditions() {
	local range='time>=1 AND time<=2' event="profile_event_type IN ('on-cpu')"
	printf '%s\n' '' 'host' "$range" "$event" "$event OR $range" "$event AND time>=x AND time<=2" \
		"profile_event_type IN ('on-cpu','mem-alloc') AND $range" \
		"$event AND $range AND no_such_tag = 1" "$event AND $range; DROP TABLE samples" "$event AND $range LIMIT 1" \
		"$event AND $range AND host IN (SELECT 1)" "$event AND $range AND host LIKE('a'" \
		"$event AND $range AND $(printf '(%.0s' {1..3000})" "$event AND $range AND $(printf 'NOT %.0s' {1..3000})host=1"
}

refused_statements() {
	printf '%s\n' '' 'show' 'show databases; show tables' 'show tags' 'show tag values' 'SELECT 1' 'DROP TABLE in_process' \
		'show tags from other' 'show tag none values from in_process' \
		'show tag host values from in_process where host' 'show tag host values from in_process limit' \
		'show tag host values from in_process limit -1' 'SELECT host FROM in_process' 'SELECT host FROM in_process GROUP BY pod' \
		"show tag host values from in_process where $(printf '(%.0s' {1..3000})" \
		"show tag $(printf 'x%.0s' {1..3000}) values from in_process"
}

check_deepflow() {
	local one
	while IFS= read -r one; do
		request POST /v1/query/ -d db=profile --data-urlencode "sql=$one"
		expect_envelope "statement '${one:0:160}'" 400 INVALID_POST_DATA
	done < <(refused_statements)
	while IFS= read -r one; do
		request POST /v1/profile/ProfileGrafana --data-urlencode "sql=$one"
		expect_envelope "conditions '${one:0:160}'" 400 INVALID_POST_DATA
	done < <(refused_conditions)
	for one in 'sql=%' 'sql=%zz' 'sql=%00' '{"sql":' '{"sql":"\u0000"}' "$(printf 'a=1&%.0s' {1..100})"; do
		request POST /v1/profile/ProfileGrafana --data-binary "$one"
		expect_envelope "form '${one:0:160}'" 400 INVALID_POST_DATA
	done
	request POST /v1/profile/ProfileGrafana -H 'X-Org-Id: 2' --data-urlencode 'sql=a'
	expect_envelope "another organization" 400 INVALID_POST_DATA
	request POST /v1/query/ --data-binary "@$work/large"
	expect_envelope "a statement of 2 MiB" 413 INVALID_POST_DATA
}

# ---- all other paths ------------------------------------------------------------------------------------------------

# refused WHAT STATUSES METHOD PATH [CURL_ARGUMENT...]: STATUSES is a regular expression
refused() {
	local what=$1 statuses=$2
	shift 2
	request "$@"
	[[ $status =~ ^($statuses)$ ]] || fail "$what: status $status, expected $statuses: ${body:0:300}"
	[ "$1" = HEAD ] || [ -n "$body" ] || fail "$what: status $status without a reason"
}

make_bodies() {
	head -c 100000 /dev/urandom >"$work/noise"
	zstd -q -f "$work/noise" -o "$work/noise.zst"
	head -c 5000 "$work/noise.zst" >"$work/cut.zst"
	printf '\x28\xb5\x2f\xfd' >"$work/magic.zst"
	# 300 MiB of zeros in a few KiB: larger than any batch may be.
	head -c 314572800 /dev/zero | zstd -q -f -o "$work/bomb.zst"
	head -c 9437184 /dev/urandom >"$work/too_large"
	# A batch with nothing but the format version 1.
	printf '\x08\x01' | zstd -q -f -o "$work/empty_batch.zst"
	# One of a later format.
	printf '\x08\x03' | zstd -q -f -o "$work/later_batch.zst"
	: >"$work/nothing"
	head -c 3000 "$server_binary" >"$work/cut.elf"
	printf 'int main;\n' >"$work/text"
}

check_ingest() {
	local file
	for file in nothing noise noise.zst cut.zst magic.zst empty_batch.zst text; do
		refused "a batch made of '$file'" 400 POST /v1/ingest --data-binary "@$work/$file"
	done
	refused "a batch of a later format" 415 POST /v1/ingest --data-binary "@$work/later_batch.zst"
	refused "a batch that expands to 300 MiB" '400|413' POST /v1/ingest --data-binary "@$work/bomb.zst"
	refused "a batch of 9 MiB" 413 POST /v1/ingest --data-binary "@$work/too_large"
}

check_debuginfo() {
	local id=0123456789abcdef0123456789abcdef01234567
	refused "an upload that is text" 400 PUT "/v1/debuginfo/$id" -T "$work/text"
	refused "an upload of nothing" 400 PUT "/v1/debuginfo/$id" -T "$work/nothing"
	refused "half an ELF file" 400 PUT "/v1/debuginfo/$id" -T "$work/cut.elf"
	refused "a build-ID that is none" 400 PUT /v1/debuginfo/nothex -T "$work/text"
	refused "a build-ID of odd length" 400 PUT /v1/debuginfo/abc -T "$work/text"
	refused "debuginfo that is not there" 404 GET "/v1/debuginfo/$id"
	refused "removal of what is not there" 404 DELETE "/v1/debuginfo/$id"
	refused "symbolize without JSON" 400 POST /v1/symbolize --data-binary 'x'
	refused "symbolize without addresses" 400 POST /v1/symbolize --data-binary '{}'
}

check_paths() {
	refused "a path that is none" 404 GET /v1/nothing
	refused "a way out of the page's folder" '400|404' GET /../../../etc/passwd --path-as-is
	refused "a coded way out" '400|404' GET /..%2f..%2fetc%2fpasswd --path-as-is
	refused "a NUL in a path" '400|404' GET /%00
	refused "a method that is none" '400|405|501' BREW /v1/services
	refused "a time that is none" 400 GET '/v1/services?last=soon'
	refused "a flame graph of no event type" 400 GET '/v1/flame?service=x&event=on-fire&last=5m'
	refused "a filter that is none" 400 GET '/v1/flame?service=x&event=on-cpu&last=5m&filter=%3D'
	refused "a range that ends before it begins" 400 GET '/v1/top?service=x&event=on-cpu&since=100&until=50'
	refused "an export in no format" 400 GET '/v1/export?service=x'
	refused "an export in an unknown format" 400 GET '/v1/export?service=x&format=xml'
	refused "an export without samples" 404 GET '/v1/export?service=x&format=pprof&last=5m'
	refused "a comparison without a base" 400 GET '/v1/diff?service=x'
	refused "regressions without a base" 400 GET '/v1/regressions?service=x'
	refused "an impossible confidence" 400 GET '/v1/regressions?service=x&base_last=5m&confidence=100'
	refused "a comparison of another kind" 400 GET '/v1/diff?service=x&base_last=5m&mode=odd'
	refused "a timeline of too many steps" 400 GET '/v1/timeline?step=10ms&last=1h'
	refused "a label selector that is none" 400 GET '/pyroscope/render?query=process_cpu:cpu:nanoseconds:cpu:nanoseconds%7B'
	refused "a call of Pyroscope's API without JSON" 400 POST /querier.v1.QuerierService/LabelNames -H 'Content-Type: application/json' --data-binary x
	refused "a heatmap of a day" 400 GET '/v1/heatmap?last=24h'
	refused "a page of another site" 403 GET /v1/services -H 'Host: evil.example.com'
	refused "a long path" '400|404|414|431' GET "/v1/$(printf 'x%.0s' {1..6000})"
	refused "a large header" '400|413|431|500' GET /v1/services -H "X-Large: $(printf 'x%.0s' {1..100000})"
}

# Random bytes to every path that takes a body: the answer is a client error (4xx), never a server error.
check_random_bodies() {
	local i path
	for ((i = 0; i < RANDOM_BODIES; i++)); do
		head -c $((RANDOM % 4000 + 1)) /dev/urandom >"$work/random"
		for path in /v1/ingest /v1/profile/ProfileTracing /v1/profile/ProfileGrafana /v1/query/ /v1/symbolize; do
			request POST "$path" --data-binary "@$work/random"
			[[ $status == 4?? ]] || { cp "$work/random" "$work/random.failed"; fail "random bytes to $path: $status: $body"; }
		done
	done
}

# Connections on which a request is never completed, or never begins.
check_half_requests() {
	local i fd
	for ((i = 0; i < 40; i++)); do
		exec {fd}<>"/dev/tcp/127.0.0.1/$server_port"
		printf 'POST /v1/ingest HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\nhalf' >&"$fd"
		exec {fd}>&-
	done
	server_is_ready || fail "the server does not answer after incomplete requests"
}

resident_kib() { sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$server_pid/status"; }

make_bodies
for ((round = 0; round < ROUNDS; round++)); do
	check_tracing
	check_deepflow
	check_ingest
	check_debuginfo
	check_paths
	check_random_bodies
	check_half_requests
	server_is_ready || fail "the server is not ready after round $round"
	# Caches and pools fill up in the first round.
	[ $round -gt 0 ] || after_first=$(resident_kib)
done
expect_at_most "growth of the server's memory after the first round, in KiB" $(($(resident_kib) - after_first)) $MAX_GROWTH_KIB

# The server ends in order. With sanitizers this is also when leaks are reported.
kill -TERM "$server_pid"
if wait "$server_pid"; then status=0; else status=$?; fi
expect_equal "exit status of the server" "$status" 0
! grep -E 'AddressSanitizer|LeakSanitizer|runtime error' "$work/server.log" || fail "the sanitizers found a defect"
