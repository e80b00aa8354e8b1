#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# One client attacks the server in twenty-three ways (tests/e2e/attacks/attacks.py), with a small and with the default limit
# of connections. Another client always gets answers of /healthz, all answers follow the API's contract, and the server's
# memory stays within a limit. The log has tables of the answers and of the slowest health checks.
#
# This test runs beside others.
. "$(dirname "$0")/lib.sh"
need_tools curl objcopy python3 readelf sha256sum zstd

readonly SMALL=20 DEFAULT=2048

# An idle server uses some 20 MiB. AddressSanitizer keeps freed memory for a while.
max_memory_mib=512
if grep -q __asan_init "${server_binary:=$HEARTH_BUILD/bin/hearth-symbolizer}"; then
	max_memory_mib=4096
fi
attacks=$e2e_root/tests/e2e/attacks

token=hearth_test_attacker other_token=hearth_test_other
hash_of() { printf %s "$1" | sha256sum | cut -d' ' -f1; }
cat >"$work/tokens.yaml" <<YAML
tokens:
  - {name: attacker, sha256: $(hash_of $token), scopes: [read, ingest, upload]}
  - {name: other, sha256: $(hash_of $other_token), scopes: [read, ingest]}
YAML

head -c 512M /dev/zero | zstd -q -c >"$work/bomb"

# A file that is larger than the buffers of two sockets.
head -c 24M /dev/urandom >"$work/random"
objcopy --add-section .random="$work/random" "$HEARTH_BUILD/bin/hearth-symbolizer" "$work/large.debug"
build_id=$(readelf -n "$work/large.debug" | sed -n 's/.*Build ID: //p')

put() { curl -sS -f -m 60 -o "$work/answer" -H "Authorization: Bearer $token" "$@" || fail "cannot prepare: $*"; }

# attack MAX_CONNECTIONS MAX_REQUESTS_PER_TOKEN
attack() {
	local max_connections=$1 per_token=$2
	start_server --tokens "$work/tokens.yaml" --max_connections "$max_connections" --max_requests_per_token "$per_token" \
		--header_timeout 5s --body_grace 5s
	put -T "$work/large.debug" "$server_url/v1/debuginfo/$build_id"
	python3 -B "$attacks/make_batch.py" "$e2e_root/tests/fuzz/corpus/batch_decode/small" | zstd -q -c >"$work/batch"
	put --data-binary @"$work/batch" "$server_url/v1/ingest"
	python3 -B "$attacks/attacks.py" "$server_port" "$server_pid" $token $other_token "$build_id" "$work" \
		"$max_connections" "$per_token" $max_memory_mib || fail "an attack succeeded with max_connections $max_connections"
	stop_server
	! grep -E 'AddressSanitizer|runtime error|LeakSanitizer' "$work/server.log" || fail "the server reports a defect"
}

attack $SMALL 6
grep "warn refused .* token 'attacker', which may have 6 requests under way (max_requests_per_token)" "$work/server.log" >/dev/null ||
	fail "the log does not name the token that had too many requests"
server_data=$work/data-default
attack $DEFAULT 100
