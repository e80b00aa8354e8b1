#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Stacks of CPython have the functions of the script, by name and line: of known shares, in deep recursion, called from C,
# in generators and in threads. The functions and lines are those that the module faulthandler finds in the same process.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests on the other CPUs at the same time.
. "$(dirname "$0")/function_nodes.sh"
need_root
need_tools curl jq

python=$(readlink -f "$(command -v /usr/bin/python3)") || skip "needs /usr/bin/python3"
[ "${python##*/}" = python3.11 ] || skip "needs Python 3.11 as /usr/bin/python3, found ${python##*/}"
levels=200
between=
class=Callbacks.
lambda='Callbacks.by_reduce.<locals>.<lambda>'
dump=$work/faulthandler.txt

. "$(dirname "$0")/python_functions.sh"
