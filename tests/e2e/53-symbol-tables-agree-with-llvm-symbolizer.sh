#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Random addresses in the server's program and in a C++ program: function, inline chain, file and line agree with
# llvm-symbolizer, except for the differences that tests/symbol_check/compare.py explains.
#
# This test runs beside others: it starts no agent and does not depend on the clock.
. "$(dirname "$0")/lib.sh"
need_tools python3 llvm-symbolizer readelf g++

cat >"$work/program.cc" <<'CODE'
#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>
namespace app {
namespace {
struct hidden {
	int value;
	int work(int n) { return value * n; }
};
}
int run(std::vector<std::string> &names)
{
	std::map<std::string, int> count;
	std::regex pattern("a+b");
	hidden h{3};
	int total = 0;

	for (auto &name : names)
		count[name] += h.work((int)name.size()) + std::regex_search(name, pattern);
	std::sort(names.begin(), names.end(), [](auto &a, auto &b) { return a.size() < b.size(); });
	for (auto &entry : count)
		total += entry.second;
	return total;
}
}
int main(int argc, char **argv)
{
	std::vector<std::string> names(argv, argv + argc);
	return app::run(names);
}
CODE
g++ -std=c++17 -O2 -g -o "$work/program" "$work/program.cc"

HEARTH_BUILD=$HEARTH_BUILD "$e2e_root/tests/symbol_check/run.sh" --count 20000 \
	"$HEARTH_BUILD/bin/hearth-symbolizer" "$work/program" >"$work/compared" 2>&1 || {
	cat "$work/compared"
	fail "the answers differ"
}
cat "$work/compared"
