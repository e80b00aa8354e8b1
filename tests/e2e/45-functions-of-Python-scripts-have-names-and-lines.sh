#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Stacks of CPython have the functions of the script, by name and line: of known shares, in deep recursion, called from C,
# in generators and in threads. The functions and lines are those that the module faulthandler finds in the same process.
#
# To check another version: HEARTH_PYTHON_ROOT=/folder, the root folder of a Debian system with python3.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/function_nodes.sh"
need_root
need_tools curl jq

root=${HEARTH_PYTHON_ROOT:-}
[ -e "$root/usr/bin/python3" ] || skip "needs $root/usr/bin/python3"
python=$(in_root readlink -f /usr/bin/python3)
case ${python##*/} in
python3.1[1-4]) ;;
*) skip "needs Python 3.11 to 3.14 as $root/usr/bin/python3, found ${python##*/}" ;;
esac
levels=200
between=
class=Callbacks.
# From Python 3.13 on, run() calls the function in the same call of the loop, before through C.
thread='Thread\.run<'
[ "${python##*/}" != python3.11 ] || thread="$eval_loop<([^<]+<)+$thread"
lambda='Callbacks.by_reduce.<locals>.<lambda>'
dump=$work/faulthandler.txt

. "$(dirname "$0")/python_functions.sh"
