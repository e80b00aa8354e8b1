#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Kernel worker threads form one service, kworker, whatever their CPU, pool and queue. Its threads keep their names. Writing
# to a pseudo-terminal keeps one of them busy.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq python3

start_server
start_agent --on_cpu.frequency 997
start_background terminal python3 -c '
import os, pty, threading, tty
master, slave = pty.openpty()
tty.setraw(slave)
def read():
	while os.read(master, 65536):
		pass
threading.Thread(target=read, daemon=True).start()
text = b"x" * 4096
while True:
	os.write(slave, text)
'
next_second
from=$second

has_worker() {
	query_profile kworker "$from" "$(now_s)" | jq -r '.result[]?.profile_location_str' | grep '^\[t\] kworker/' >/dev/null
}
expect_within 60s has_worker
to=$(now_s)
fetch_profile "$work/kworker.json" kworker "$from" "$to"
# Every node below the root is a thread with its name: no worker is the main thread of a service.
expect_no_label "$work/kworker.json" "[p] kworker"
fetch_profile "$work/total.json" Total "$from" "$to"
expect_label "$work/total.json" "[p] kworker"
expect_no_label "$work/total.json" "[p] kworker/"

request GET "/v1/services?last=5m"
expect_equal "status of the list of services" "$status" 200
[[ $body == *'"kworker"'* ]] || fail "kworker is not listed: $body"
[[ $body != *'kworker/'* ]] || fail "a single worker is listed as a service: $body"
[[ $body != *'ksoftirqd/'* && $body != *'migration/'* ]] || fail "a single kernel thread is listed as a service: $body"
