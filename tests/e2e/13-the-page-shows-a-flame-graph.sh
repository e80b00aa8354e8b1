#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The web page in a real browser, over real data: what it checks is in tests/e2e/page.
#
# This test needs one CPU.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq node chromium

start_server
start_agent
from=$(now_s)
start_workload shares 120
expect_within 40s has_samples shares "$from" $((from + 600))
wait_for_coverage $((from + 10))
# While names are pending the page asks again by itself, and the graph changes under the pointer.
wait_for_name work_a shares "$from" $((from + 600))

tests=("$e2e_root"/tests/e2e/page/*.test.mjs)
[ -e "${tests[0]}" ] || fail "no page tests in tests/e2e/page"
HEARTH_URL=$server_url HEARTH_SERVICE=shares HEARTH_WORK=$work node --test "${tests[@]}"
