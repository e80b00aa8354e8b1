#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The web page in a real browser, with real data. tests/e2e/page has the checks.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq node chromium

start_server
start_agent
from=$(now_s)
start_workload shares 120
expect_within 40s has_samples shares "$from" $((from + 600))
wait_for_coverage $((from + 10))
# While names are pending, the page repeats its query, which would change the graph under the pointer.
wait_for_name work_a shares "$from" $((from + 600))

tests=("$e2e_root"/tests/e2e/page/*.test.mjs)
[ -e "${tests[0]}" ] || fail "no page tests in tests/e2e/page"
HEARTH_URL=$server_url HEARTH_SERVICE=shares HEARTH_WORK=$work node --test "${tests[@]}"
