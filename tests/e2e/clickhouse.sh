# SPDX-License-Identifier: Apache-2.0
#
# ClickHouse servers for end-to-end tests, sourced after lib.sh. Version 18.16, as Debian has it.

PATH=$PATH:/usr/sbin
command -v clickhouse-server >/dev/null || skip "needs clickhouse-server"

# write_clickhouse_config NAME HTTP_PORT [ELEMENT...]: of the server in $work/NAME. User hearth, password s3cret.
write_clickhouse_config() {
	local folder=$work/$1 port=$2
	shift 2
	mkdir -p "$folder/data" "$folder/tmp"
	cat >"$folder/config.xml" <<-EOF
		<yandex><logger><level>none</level></logger><http_port>$port</http_port>
		<listen_host>127.0.0.1</listen_host><path>$folder/data/</path><tmp_path>$folder/tmp/</tmp_path>
		<users_config>users.xml</users_config><default_profile>default</default_profile>
		<default_database>default</default_database><mark_cache_size>16777216</mark_cache_size>$*</yandex>
	EOF
	cat >"$folder/users.xml" <<-EOF
		<yandex><profiles><default/></profiles><quotas><default/></quotas><users>
		<hearth><password>s3cret</password><networks><ip>127.0.0.1</ip></networks>
		<profile>default</profile><quota>default</quota></hearth></users></yandex>
	EOF
}

# begin_clickhouse NAME: sets $background_pid
begin_clickhouse() { start_background "$1" clickhouse-server --config-file="$work/$1/config.xml"; }

# clickhouse_answers HTTP_PORT
clickhouse_answers() { curl -s -m 2 "http://127.0.0.1:$1/" | grep -x 'Ok.' >/dev/null; }

# ask_clickhouse HTTP_PORT QUERY
ask_clickhouse() { curl -s -m 10 "http://127.0.0.1:$1/?user=hearth&password=s3cret" --data-binary "$2"; }
