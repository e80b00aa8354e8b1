#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# clang-tidy over our sources (.clang-tidy says which checks), with what it found and nothing else.
#
#   tests/lint/clang_tidy.sh BUILD_FOLDER
set -uo pipefail

build=${1:?the build folder, for its compile_commands.json}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# gcc's own flags are unknown to clang; BPF programs and generated sources are not looked at.
run-clang-tidy -quiet -p "$build" -extra-arg=-Wno-unknown-warning-option "$root/(agent|symbolizer|common|proto)/.*\.c$" \
	2>&1 | sed 's/\x1b\[[0-9;]*m//g' | grep -vE '^(clang-tidy|[0-9]+ warnings? generated|Enabled checks|    |$)'
exit "${PIPESTATUS[0]}"
