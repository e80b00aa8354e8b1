#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/churn/run.sh, which takes ten minutes, for a part of one.
export HEARTH_CHURN_S=${HEARTH_CHURN_S:-45}
exec bash "$(dirname "$0")/../churn/run.sh"
