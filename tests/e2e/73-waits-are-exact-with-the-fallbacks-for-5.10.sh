#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs test 14 with the fallbacks for Linux 5.10, forced on this kernel: threads are kept in a hash map, tail calls walk
# stacks, and the walk over open waits reads no memory.
export HEARTH_AGENT_KERNEL_WITHOUT=bpf-loop,hash-on-demand
exec bash "$(dirname "$0")"/14-*.sh
