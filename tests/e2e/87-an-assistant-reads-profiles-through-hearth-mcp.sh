#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# An assistant asks `hearth mcp`, in the Model Context Protocol, for services, functions, the call tree, a comparison and
# code without names. Each answer is the text that the command prints to a user. Wrong calls get an answer with the reason,
# and the session goes on. The token is passed to the commands without being visible on a command line.
#
# This test runs beside others: it starts no agent and does not depend on the clock.
. "$(dirname "$0")/lib.sh"
need_tools curl jq sha256sum

token=hearth_test_mcp
printf 'tokens:\n  - name: test\n    sha256: %s\n    scopes: [ingest, read]\n' "$(printf %s $token | sha256sum | cut -d' ' -f1)" \
	>"$work/tokens"
printf %s $token >"$work/token"
start_server --tokens "$work/tokens"
until=$(now_s)
from=$((until - 5))
profile=$e2e_root/tests/fuzz/corpus/import_pprof/go-cpu.pb.gz
curl -sS -m 30 -o "$work/stored" -H "Authorization: Bearer $token" --data-binary "@$profile" \
	"$server_url/v1/profile/pprof?service=go&from=$from&until=$until"
expect_equal "profiles stored" "$(jq .profiles_stored "$work/stored")" 1

export HEARTH_SERVER=$server_url HEARTH_TOKEN_FILE=$work/token
range=$(jq -nc --arg since "$((from - 1))" --arg until "$((until + 1))" '{since: $since, until: $until}')

# call ID TOOL ARGUMENTS: prints a request with the arguments and the range of the test.
call() {
	jq -nc --argjson id "$1" --arg tool "$2" --argjson arguments "$3" --argjson range "$range" \
		'{jsonrpc: "2.0", $id, method: "tools/call", params: {name: $tool, arguments: ($arguments + $range)}}'
}

{
	echo '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}'
	echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
	echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
	call 2 services '{}'
	call 3 top '{"service": "go", "rows": 5}'
	call 4 flame '{"service": "go"}'
	call 5 diff '{"service": "go", "base_filter": "request = '"'checkout'"'"}'
	call 6 why_unresolved '{}'
	call 7 top '{"service": "no such service"}'
	call 8 top '{"service": "go", "filter": "host ! 1"}'
	call 9 top '{"rows": 5}'
	call 10 delete '{"service": "go"}'
	echo 'not JSON'
	call 12 flame '{"service": "go", "callers_of": "main.spin"}'
	call 13 source '{"service": "go", "function": "main.spin"}'
	call 14 disassembly '{"service": "go", "function": "main.spin", "rows": 5}'
	call 11 processes '{"service": "--help"}'
} | timeout 120 "$hearth" mcp >"$work/answers" 2>"$work/mcp.log" || fail "hearth mcp failed: $(cat "$work/mcp.log")"
expect_equal "answers" "$(wc -l <"$work/answers")" 16

# answer ID FILTER: prints a part of an answer.
answer() { jq -r --argjson id "$1" "select(.id == \$id) | $2" "$work/answers"; }

# comparable FILE: prints it without empty lines, and without the age of the last sample, which grows meanwhile.
comparable() { sed -E '/^$/d; s/just now|[0-9]+ s ago//; s/ +/ /g' "$1"; }

# same ID COMMAND...: the answer is exactly what the command prints.
same() {
	local id=$1
	shift
	"$hearth" "$@" --since "$((from - 1))" --until "$((until + 1))" >"$work/expected" 2>"$work/messages"
	answer "$id" '.result.content[0].text' >"$work/text"
	cat "$work/messages" >>"$work/expected"
	diff <(comparable "$work/expected") <(comparable "$work/text") || fail "the answer differs from 'hearth $*'"
	expect_equal "is an error: $1" "$(answer "$id" .result.isError)" false
}

expect_equal "version" "$(answer 0 .result.protocolVersion)" 2025-06-18
expect_equal "tools" "$(answer 1 '[.result.tools[].name] | join(" ")')" "services hosts processes top flame source disassembly diff why_unresolved"
same 2 services
same 3 top --service go --rows 5
grep -F main.spin "$work/text" >/dev/null || fail "the busiest function is missing: $(cat "$work/text")"
same 4 flame --service go --rows 60
same 5 diff --service go --base-filter "request = 'checkout'"
same 12 flame --service go --callers-of main.spin --rows 60
grep -E "main.spin > main.inner" "$work/text" >/dev/null || fail "the caller is not below the function: $(cat "$work/text")"
same 6 why --rows 20
same 13 source --service go main.spin
grep -F "main.spin, " "$work/text" >/dev/null || fail "the lines of the function are missing: $(cat "$work/text")"
# The stored profile names its functions itself, so that the server does not look for their code.
expect_equal "code that is not known is no error" "$(answer 14 .result.isError)" false
answer 14 '.result.content[0].text' >"$work/text"
grep -F "no machine code" "$work/text" >/dev/null || fail "the answer does not say why: $(cat "$work/text")"
expect_equal "no data is no error" "$(answer 7 .result.isError)" false
answer 7 '.result.content[0].text' | grep -F "no such service" >/dev/null || fail "the answer does not name the service"
expect_equal "a wrong filter is an error" "$(answer 8 .result.isError)" true
answer 8 '.result.content[0].text' | grep -i filter >/dev/null || fail "the answer does not name the filter"
expect_equal "a missing argument" "$(answer 9 '.result.content[0].text')" "the argument 'service' is missing"
expect_equal "an unknown tool" "$(answer 10 .error.code)" -32602
expect_equal "no JSON" "$(answer null .error.code)" -32700
expect_equal "a service named as an option" "$(answer 11 .result.isError)" false

# ---- without its server, and with a wrong token
export HEARTH_TOKEN=wrong
call 1 services '{}' | "$hearth" mcp >"$work/refused"
jq -r '.result.content[0].text' "$work/refused" | grep -i token >/dev/null || fail "the refusal does not name the token"
expect_equal "a wrong token is an error" "$(jq .result.isError "$work/refused")" true
