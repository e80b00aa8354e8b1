#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The same as 45 for CPython 3.9 of Debian 11, in which each Python function has its own call of the interpreter's loop. Its
# packages are downloaded from the mirror of this host's apt to $HEARTH_PYTHON_CACHE (default build/python3.9). To check
# another interpreter of version 3.8 to 3.10: HEARTH_OLD_PYTHON=/path/to/python3.8.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/function_nodes.sh"
need_root
need_tools curl jq

# install_python FOLDER: unpacks Debian's packages; false if the mirror does not answer. The host has their libraries.
install_python() {
	local package
	export HEARTH_KERNELS_CACHE=$1.packages
	. "$e2e_root/tests/kernels/lib.sh"
	lock_cache
	rm -rf -- "$1.new"
	for package in python3.9-minimal libpython3.9-minimal libpython3.9-stdlib; do
		fetch_package bullseye amd64 $package "$1.new" || return 1
	done
	mv "$1.new" "$1"
}

root=
python=${HEARTH_OLD_PYTHON:-}
if [ -z "$python" ]; then
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	cache=${HEARTH_PYTHON_CACHE:-$HEARTH_BUILD/python3.9}
	[ -e "$cache" ] || (install_python "$cache") || skip "the mirror has no python3.9 of Debian 11, or does not answer"
	python=$cache/usr/bin/python3.9
	"$python" -c 'import faulthandler, functools, threading' || skip "python3.9 of Debian 11 does not run here"
fi

levels=50
# The loop, and functions of CPython that call it.
between='(\[l\] )?_PyEval_EvalFrameDefault<(((\[l\] )?(_?Py|call_function|function_code_fastcall)|\[/)[^<]*<)*'
class=
thread="$eval_loop<([^<]+<)+run<"
lambda='<lambda>'
dump=

. "$(dirname "$0")/python_functions.sh"
