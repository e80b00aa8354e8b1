#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fails if clang-format would change a C file. To format all of them: tests/lint/check_format.sh
# --fix
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

options=(--dry-run -Werror)
[ "${1:-}" != --fix ] || options=(-i)
git -c safe.directory='*' ls-files -z '*.c' '*.h' | xargs -0 -P "$(nproc)" -n 50 clang-format "${options[@]}"
