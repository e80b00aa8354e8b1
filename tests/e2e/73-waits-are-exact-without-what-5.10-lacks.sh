#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/e2e/14 with the fallbacks of Linux 5.10, forced on this kernel: threads in a hash map, stacks walked by tail
# calls, a walk that reads no memory.
export HEARTH_AGENT_KERNEL_WITHOUT=bpf-loop,hash-on-demand
exec bash "$(dirname "$0")"/14-*.sh
