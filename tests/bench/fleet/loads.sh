# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Load of a host, for benchmarks. Needs the functions of figures.sh.

# Programs with the work of typical services, which use all CPUs: parse, query, compress, compute.
start_services() {
	local seconds=$1
	start_workload shares "$seconds"
	start_workload syscalls "$seconds"
	start_background database timeout "$seconds" sqlite3 :memory: \
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000000000)
		 SELECT count(DISTINCT i % 977), sum(length(hex(i))) FROM n;"
	start_background json timeout "$seconds" python3 -c '
import json, random
rows = [{"id": i, "name": "row %d" % i, "values": [random.random() for _ in range(8)]} for i in range(2000)]
while True:
    assert json.loads(json.dumps(rows, sort_keys=True))[7]["id"] == 7
'
	start_background compressor timeout "$seconds" bash -c \
		"while :; do head -c 50000000 '$HEARTH_BUILD/bin/hearth-symbolizer' | zstd -q -12 -c >/dev/null; done"
}

# The same kinds of work on a host that is mostly idle (about 10 % of two CPUs): each program works
# for some milliseconds several times a second, some as new processes, and 20 small processes wake
# up four times a second.
start_light_services() {
	local seconds=$1 host=$work/light-host
	mkdir -p "$host"
	"$workloads/make_executables" "$host" 40
	touch "$host/busy"
	start_background many timeout "$seconds" "$workloads/many" 20 sh -c \
		'exec "$0" "$1" $((2 * $2)) 8 files=40 busy=500' "$workloads/use_executables" "$host" {}
	start_background json timeout "$seconds" python3 -c '
import json, random, time
rows = [{"id": i, "name": "row %d" % i, "values": [random.random() for _ in range(8)]} for i in range(400)]
while True:
    assert json.loads(json.dumps(rows, sort_keys=True))[7]["id"] == 7
    time.sleep(0.05 + 0.1 * random.random())
'
	start_background database timeout "$seconds" python3 -c '
import random, sqlite3, time
db = sqlite3.connect(":memory:")
db.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, text TEXT, weight REAL)")
db.executemany("INSERT INTO item VALUES (?, ?, ?)", ((i, "item %d" % i, random.random()) for i in range(20000)))
while True:
    db.execute("SELECT text, sum(weight) FROM item WHERE weight > ? GROUP BY id % 97 ORDER BY 2", (random.random(),)).fetchall()
    time.sleep(0.1 + 0.2 * random.random())
'
	start_background jobs timeout "$seconds" bash -c "
		while :; do
			head -c 400000 '$HEARTH_BUILD/bin/hearth-symbolizer' | zstd -q -6 -c >/dev/null
			read -rt 0.7 -u 9
		done 9<> <(:)"
}

# Builds this repository in a loop.
start_builds() {
	start_background builds timeout "$1" bash -c "
		while :; do
			rm -rf '$work/tree'
			cmake -S '$e2e_root' -B '$work/tree' -DHEARTH_TESTS=OFF && cmake --build '$work/tree' --parallel $(nproc)
		done"
}
