#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Clients that send slowly, or open as many connections as they can, do not block other clients. No check depends on the
# speed of the machine: the server ends each connection for one of the reasons in /metrics, and the counts add up.
#
# This test runs beside others.
. "$(dirname "$0")/lib.sh"
need_tools curl python3 sha256sum

readonly SHARE=8 SLOW_HEADERS=30 SLOW_BODIES=4 MAX_CONNECTIONS=20

token=hearth_test_all
printf 'tokens:\n  - name: all\n    sha256: %s\n    scopes: [read, ingest]\n' \
	"$(printf %s $token | sha256sum | cut -d' ' -f1)" >"$work/tokens.yaml"

closed_for() {
	curl -sS -m 20 -H "Authorization: Bearer $token" "$server_url/metrics" |
		awk -v name="hearth_symbolizer_http_connections_closed_total{reason=\"$1\"}" '$1 == name { print $2 }'
}

# answered_with STATUS TEXT: the server answers TEXT, which has no body, with STATUS, and closes the connection in order.
answered_with() {
	local fd answer
	exec {fd}<>"/dev/tcp/127.0.0.1/$server_port"
	printf '%b' "$2" >&"$fd"
	answer=$(timeout 20 cat <&"$fd" | tr -d '\0') || fail "no end of the connection after '$2'"
	exec {fd}>&-
	[[ $answer == "HTTP/1.1 $1 "* ]] || fail "'$2' was answered with '${answer:0:200}'"
}

# From 127.0.0.2: opens COUNT connections, sends BEGINNING on each, and then one byte on each four times a second, until the
# server has closed all of them.
cat >"$work/drip.py" <<'PYTHON'
import select, socket, sys, time

port, count, beginning = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode().decode("unicode_escape").encode()
connections = []
for _ in range(count):
    connections.append(socket.create_connection(("127.0.0.1", port), 20, ("127.0.0.2", 0)))

def is_open(connection, data):
    try:
        connection.setblocking(False)
        if data:
            connection.send(data)
        return connection.recv(4096) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False

connections = [c for c in connections if is_open(c, beginning)]
print("open", flush=True)
deadline = time.monotonic() + 120
while connections and time.monotonic() < deadline:
    select.select(connections, [], [], 0.25)
    connections = [c for c in connections if is_open(c, b"x")]
sys.exit(len(connections) > 0)
PYTHON
start_dripping() {
	start_background "drip-$1" python3 "$work/drip.py" "$server_port" "$2" "$3"
	drip_pid=$background_pid
	expect_within 60s grep -qx open "$work/drip-$1.log"
}
all_ended() { wait "$1" || fail "the server did not close all slow connections"; }

start_server --tokens "$work/tokens.yaml" --max_connections $MAX_CONNECTIONS --max_connections_per_client $SHARE \
	--header_timeout 4s --body_grace 2s --body_min_rate 1KiB

# ---- requests that are refused by their header, before the body
host='Host: 127.0.0.1\r\n'
answered_with 401 "POST /v1/ingest HTTP/1.1\r\n${host}Content-Length: 1000000\r\n\r\n"
answered_with 401 "PUT /v1/debuginfo/0123456789abcdef HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n"
answered_with 404 "POST /v1/nothing HTTP/1.1\r\n${host}Content-Length: 1000000\r\n\r\n"
answered_with 400 "GET /healthz HTTP/1.1\r\n\r\n"
answered_with 400 "POST /v1/ingest HTTP/1.1\r\n${host}Content-Length: 1\r\nContent-Length: 2\r\n\r\nx"
answered_with 400 "POST /v1/ingest HTTP/1.1\r\n${host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"

# ---- a header that never ends, on as many connections as one client may have
start_dripping header $SLOW_HEADERS 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: '
slowest=0
for ((i = 0; i < 20; i++)); do
	took=$(curl -sS -f -m 20 -o "$work/health" -w '%{time_total}' "$server_url/healthz") || fail "no answer of /healthz while a client sends slowly"
	slowest=$(printf '%s\n' "$slowest" "$took" | sort -g | tail -n 1)
done
say "the slowest of 20 answers of /healthz took $slowest s while another client held its connections"
all_ended "$drip_pid"
refused=$(closed_for client_limit) late=$(closed_for header_timeout)
expect_equal "connections refused for their number or closed for their header" $((refused + late)) $SLOW_HEADERS
expect_at_least "connections refused beyond one client's limit" "$refused" 1
expect_at_least "connections closed for their header" "$late" 1

# ---- a body that never ends, from a client with a token
start_dripping body $SLOW_BODIES "POST /v1/ingest HTTP/1.1\\r\\n${host}Authorization: Bearer $token\\r\\nContent-Length: 100000\\r\\n\\r\\n"
all_ended "$drip_pid"
expect_equal "connections closed for their body" "$(closed_for slow_body)" $SLOW_BODIES

for reason in max_connections_per_client header_timeout body_min_rate; do
	logged() { grep "warn closed .* $reason.* client 127.0.0.2" "$work/server.log" >/dev/null; }
	expect_within 30s logged
	# At most one line a minute.
	expect_at_most "lines in the log on $reason" "$(grep -c "warn closed .* $reason" "$work/server.log")" 2
done
