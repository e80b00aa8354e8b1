#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A server with tokens answers only health and the page's files without one. A token allows what its scopes allow, no more.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq sha256sum

tokens=$work/tokens.yaml
token_of() { printf 'hearth_test_%s' "$1"; }
add_token() {
	printf '  - name: %s\n    sha256: %s\n    scopes: [%s]\n' "$1" "$(token_of "$1" | sha256sum | cut -d' ' -f1)" "$1" >>"$tokens"
}
printf 'tokens:\n' >"$tokens"
for scope in ingest upload read admin; do
	add_token $scope
done

# ---- without tokens the server listens on loopback addresses only
if timeout 20 "$HEARTH_BUILD/bin/hearth-symbolizer" --listen "0.0.0.0:$(free_port)" --data "$work/open" >"$work/open.log" 2>&1; then
	fail "the server listens on every address without tokens"
fi
grep -F -- --tokens "$work/open.log" >/dev/null || fail "the refusal does not name --tokens: $(cat "$work/open.log")"

start_server --tokens "$tokens"

# Each line: method, path, the scopes that may use it.
id=0123456789abcdef0123456789abcdef01234567
guarded="
POST   /v1/profile/ProfileTracing  read
GET    /v1/flame                   read
GET    /v1/top                     read
GET    /v1/export                  read
GET    /v1/source                  read
GET    /v1/disassembly             read
GET    /v1/diff                    read
GET    /v1/regressions             read
GET    /v1/unresolved              read
GET    /v1/services                read
DELETE /v1/services                admin
GET    /v1/processes               read
GET    /v1/groups                  read
GET    /v1/timeline                read
GET    /v1/heatmap                 read
GET    /v1/hosts                   read
GET    /v1/fleet                   read
POST   /querier.v1.QuerierService/Series read
GET    /pyroscope/render           read
GET    /pyroscope/label-values     read
POST   /v1/profile/ProfileGrafana  read
POST   /v1/query/                  read
POST   /v1/query                   read
POST   /api/querier/v1/query/      read
POST   /v1/symbolize               read
POST   /v1/ingest                  ingest
POST   /v1/profile/pprof           ingest
POST   /ingest                     ingest
POST   /push.v1.PusherService/Push ingest
POST   /v1development/profiles     ingest
PUT    /v1/debuginfo/$id           upload,ingest
PUT    /v1/debuginfo/$id/source/a  upload
POST   /v1/debuginfo/$id/uploads   upload,ingest
PUT    /v1/debuginfo/$id/uploads/0 upload,ingest
GET    /v1/debuginfo/$id/uploads/0 upload,ingest
DELETE /v1/debuginfo/$id/uploads/0 upload,ingest
GET    /v1/debuginfo/$id           read,upload
GET    /v1/debuginfo/$id/status    read,upload
POST   /v1/debuginfo/$id/check     admin
GET    /buildid/$id/debuginfo      read
GET    /buildid/$id/executable     read
GET    /buildid/$id/source/a       read
GET    /buildid/$id/section/.text  read
GET    /v1/debuginfo               read
DELETE /v1/debuginfo/$id           admin
GET    /metrics                    read
"
is_denied() { [ "$status" = 401 ] || [ "$status" = 403 ]; }

# The table of routes also has the three paths below that need no token, and the pattern of the files of the web page.
routes=$(grep -cE '^(STREAM_)?ROUTE\(' "$(dirname "$0")/../../symbolizer/api/routes.def")
expect_equal "number of routes that need a token" "$(grep -c . <<<"$guarded")" $((routes - 4))

count=0
while read -r method path scopes; do
	[ -n "$method" ] || continue
	request "$method" "$path" --data-binary x
	expect_equal "$method $path without a token" "$status" 401
	request "$method" "$path" --data-binary x -H 'Authorization: Bearer nonsense'
	expect_equal "$method $path with an unknown token" "$status" 401
	request "$method" "$path" --data-binary x -H 'Authorization: Basic dXNlcjpwYXNz'
	expect_equal "$method $path with a password" "$status" 401
	for scope in ingest upload read admin; do
		request "$method" "$path" --data-binary x -H "Authorization: Bearer $(token_of $scope)"
		if [[ ,$scopes, == *",$scope,"* ]]; then
			! is_denied || fail "$method $path is denied to $scope: $status"
			[ "$status" != 000 ] || fail "$method $path: no answer"
		else
			expect_equal "$method $path with $scope" "$status" 403
		fi
		count=$((count + 1))
	done
done <<<"$guarded"
say "$count combinations of path and token"

for path in /healthz /readyz /; do
	request GET $path
	expect_equal "$path without a token" "$status" 200
done

# ---- an agent with a token delivers batches; one without logs why it cannot
printf '%s\n' "$(token_of ingest)" >"$work/agent-token"
start_agent --token_file "$work/agent-token"
from=$(now_s)
start_workload shares 60
delivered() {
	jq -nc --argjson from "$from" '{app_service: "shares", profile_event_type: "on-cpu", profile_language_type: "eBPF",
		time_start: $from, time_end: ($from + 600)}' |
		curl -sS -m 10 -H "Authorization: Bearer $(token_of read)" --data-binary @- \
			"$server_url/v1/profile/ProfileTracing" | jq -e '(.result | length) > 0' >/dev/null
}
expect_within 40s delivered
stop_agent

agent_spool=$work/spool2
start_agent
logs_the_reason() { grep -iE '401|token' "$work/agent.log" >/dev/null; }
expect_within 40s logs_the_reason
