#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Starts 200 short programs a second, so that pids are used again soon. No stack may have a frame of another program. Runs
# tests/churn/run.sh for 45 seconds instead of ten minutes.
export HEARTH_CHURN_S=${HEARTH_CHURN_S:-45}
exec bash "$(dirname "$0")/../churn/run.sh"
