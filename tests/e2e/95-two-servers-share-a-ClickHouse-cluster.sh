#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two servers keep samples in a ClickHouse cluster of two shards with two replicas each. While an agent sends batches, a
# replica is killed, and then the agent's server, whose place another one takes. Both servers have every sample that the agent
# took exactly once, also when only the replica answers that was killed before. So does the table profile.in_process of each
# ClickHouse server.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl java jq
. "$(dirname "$0")/clickhouse.sh"

readonly SAMPLE_HZ=397 N_NODES=4
printf 's3cret\n' >"$work/password"

# ---- ZooKeeper, and the nodes 0 and 1 of shard 0, 2 and 3 of shard 1
zookeeper_port=$(free_port)
cat >"$work/zookeeper.cfg" <<EOF
tickTime=500
dataDir=$work/zookeeper
clientPort=$zookeeper_port
clientPortAddress=127.0.0.1
admin.enableServer=false
EOF
mkdir "$work/zookeeper"
start_background zookeeper java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
	-cp '/etc/zookeeper/conf:/usr/share/java/zookeeper.jar:/usr/share/java/*' \
	org.apache.zookeeper.server.quorum.QuorumPeerMain "$work/zookeeper.cfg"
zookeeper_listens() { ! port_is_free "$zookeeper_port"; }
expect_within 60s zookeeper_listens

http_ports=() tcp_ports=() node_pids=()
for ((node = 0; node < N_NODES; node++)); do
	http_ports+=("$(free_port)")
	tcp_ports+=("$(free_port)")
done
replica() {
	printf '<replica><host>127.0.0.1</host><port>%d</port><user>hearth</user><password>s3cret</password></replica>' \
		"${tcp_ports[$1]}"
}
servers="<remote_servers><fleet>$(for shard in 0 1; do
	printf '<shard><internal_replication>true</internal_replication>%s%s</shard>' \
		"$(replica $((2 * shard)))" "$(replica $((2 * shard + 1)))"
done)</fleet></remote_servers>"
start_node() {
	begin_clickhouse "node-$1"
	node_pids[$1]=$background_pid
}
urls=
for ((node = 0; node < N_NODES; node++)); do
	write_clickhouse_config "node-$node" "${http_ports[node]}" "<tcp_port>${tcp_ports[node]}</tcp_port>" \
		"<interserver_http_port>$(free_port)</interserver_http_port>" \
		"<interserver_http_host>127.0.0.1</interserver_http_host>" \
		"<zookeeper><node><host>127.0.0.1</host><port>$zookeeper_port</port></node></zookeeper>" \
		"<macros><shard>$((node / 2))</shard><replica>$((node % 2))</replica></macros>" \
		"<distributed_ddl><path>/clickhouse/ddl</path></distributed_ddl>" "$servers"
	start_node "$node"
	urls+="http://127.0.0.1:${http_ports[node]},"
done
for port in "${http_ports[@]}"; do
	expect_within 60s clickhouse_answers "$port"
done

# ---- the servers, each with its data folder
cluster_options=(--store clickhouse --clickhouse.url "$urls" --clickhouse.cluster fleet --clickhouse.user hearth
	--clickhouse.password_file "$work/password" --clickhouse.in_process 1d)
server_data=$work/data-1
start_server "${cluster_options[@]}"
first_url=$server_url first_pid=$server_pid
unset server_port
server_data=$work/data-2
start_server "${cluster_options[@]}"
other_url=$server_url

server_url=$first_url
# A batch takes a second or more, because ClickHouse gets a group of batches each second.
agent_batch_interval=5s
start_agent --on_cpu.frequency $SAMPLE_HZ
start_workload shares 600
has_run() { [ "$(cpu_time_us "$workload_pid")" -ge "$1" ]; }
from=$(now_s)
expect_within 120s has_run 2000000

say "a replica is killed"
end_process "${node_pids[1]}" KILL
expect_within 120s has_run 4000000

say "the agent's server is killed, and another one takes its place"
end_process "$first_pid" KILL
server_port=${first_url##*:}
server_data=$work/data-3
start_server "${cluster_options[@]}"
expect_within 120s has_run 6000000
wait_for_coverage "$(now_s)"
end_process "$workload_pid"
stop_agent
to=$(($(now_s) + 1))
taken=$(agent_metric samples_total)
expect_at_least "samples" "$taken" $((4 * SAMPLE_HZ))
expect_equal "batches that the agent dropped" "$(agent_metric batches_dropped_total)" 0

# samples_at URL: the samples that this server finds.
samples_at() {
	server_url=$1
	query_profile Total $((from - 120)) "$to" '{"debug": true}' >"$work/total.json"
	awk -v us="$(total_of "$work/total.json")" -v hz=$SAMPLE_HZ 'BEGIN { printf "%.0f\n", us * hz / 1000000 }'
}
# A batch is acknowledged once one replica of each shard has its rows. A query that reads the shard's other replica does not
# find the newest rows until that replica has fetched them.
has_every_sample() {
	samples=$(samples_at "$1")
	[ $((samples - taken)) -ge -2 ] && [ $((samples - taken)) -le 2 ]
}
expect_every_sample() {
	wait_until 60s has_every_sample "$2" || say "the newest rows of a replica are late"
	expect_near "samples $1" "$samples" "$taken" 2
}
expect_every_sample "at the agent's server" "$first_url"
expect_every_sample "at the other server" "$other_url"

# ---- the table of symbolized stacks, which both servers fill, at a server of ClickHouse of each shard
rows_in_process() {
	ask_clickhouse "${http_ports[$1]}" "SELECT intDiv(sum(profile_value) * $SAMPLE_HZ + 500000, 1000000) FROM profile.in_process
		WHERE profile_event_type = 'on-cpu'"
}
service_samples_at() {
	ask_clickhouse "${http_ports[$1]}" "SELECT sum(arraySum(amounts)) FROM (
			SELECT series, amounts FROM hearth.samples WHERE lane != 0 LIMIT 1 BY lane, hour, series, epoch, sequence)
		WHERE series IN (SELECT id FROM hearth.series WHERE event = 'on-cpu')"
}
has_every_sample_in_process() {
	samples=$(service_samples_at "$1")
	samples_in_process=$(rows_in_process "$1")
	[ $((samples_in_process - samples)) -ge -2 ] && [ $((samples_in_process - samples)) -le 2 ]
}
for node in 0 2; do
	wait_until 400s has_every_sample_in_process "$node" || say "the table of node $node is late"
	expect_near "samples in the table of node $node" "$samples_in_process" "$samples" 2
done

say "the replica is started again, and catches up; then the other one is killed"
start_node 1
expect_within 60s clickhouse_answers "${http_ports[1]}"
rows_at() { ask_clickhouse "${http_ports[$1]}" 'SELECT count() FROM (SELECT * FROM hearth.samples_local LIMIT 1 BY lane, hour, series, epoch, sequence)'; }
rows=$(rows_at 0)
expect_at_least "rows of a shard" "$rows" 1
has_caught_up() { [ "$(rows_at 1)" = "$rows" ]; }
expect_within 60s has_caught_up
end_process "${node_pids[0]}" KILL
expect_every_sample "from the replica" "$other_url"
