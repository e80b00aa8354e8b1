# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The programs of run.sh. Each one has needs_NAME (is it installed), setup_NAME (creates files in
# $work/data) and run_NAME (runs the program until it is ended; its processes are compared, or only
# those that the regular expression names_NAME matches). Servers also have ready_NAME (does it
# accept requests) and load_NAME (clients, which are not compared). $seconds is the duration of the
# measurement, $work the folder of the run.

list_programs() { declare -F | sed -n 's/^declare -f run_//p'; }

again() { while "$@"; do :; done; }
has() { command -v "$1" >/dev/null; }

# Prints a port for each server, which is the same in both shells.
port_of() { printf '%d' $((21000 + $(printf '%s%s' "$work" "$1" | cksum | cut -d' ' -f1) % 10000)); }
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
ready_at() { wait_for 60 listens "$(port_of "$1")"; }

# Writes up to 60 MB of text without early repetition.
make_text() {
	find /usr/include /usr/share/perl /usr/lib/python3.11 -type f -name '*.[hp][my]*' -print0 | sort -z |
		xargs -0 cat | head -c 60000000 >"$work/data/text"
	[ "$(stat -c %s "$work/data/text")" -gt 1000000 ]
}

# ---- servers

needs_nginx() { has nginx && has wrk; }
setup_nginx() {
	mkdir -p data/www data/nginx
	head -c 60000 /usr/include/stdlib.h >data/www/page.txt
	cat >data/nginx.conf <<-END
		worker_processes 2; daemon off; pid $work/data/nginx/pid; error_log $work/data/nginx/error.log;
		events { worker_connections 256; }
		http { access_log $work/data/nginx/access.log; gzip on; gzip_comp_level 5; gzip_types *;
			client_body_temp_path $work/data/nginx; proxy_temp_path $work/data/nginx;
			fastcgi_temp_path $work/data/nginx; uwsgi_temp_path $work/data/nginx; scgi_temp_path $work/data/nginx;
			server { listen 127.0.0.1:$(port_of nginx); root $work/data/www;
				location ~ "^/(a+)b\$" { return 404; } } }
	END
}
run_nginx() { exec nginx -e "$work/data/nginx/error.log" -c "$work/data/nginx.conf"; }
ready_nginx() { ready_at nginx; }
load_nginx() {
	wrk -t1 -c16 -d $((seconds + 20)) -H 'Accept-Encoding: gzip' "http://127.0.0.1:$(port_of nginx)/page.txt" &
	wrk -t1 -c4 -d $((seconds + 20)) "http://127.0.0.1:$(port_of nginx)/aaaaaaaaaaaaaaaaab"
}

needs_redis() { has redis-server && has redis-benchmark; }
setup_redis() { :; }
run_redis() { exec redis-server --port "$(port_of redis)" --bind 127.0.0.1 --save '' --io-threads 2 --dir "$work/data"; }
ready_redis() { ready_at redis; }
load_redis() {
	redis-benchmark -p "$(port_of redis)" -l -q -n 20000 -P 16 -r 100000 \
		-t set,get,lpush,lrange_100,zadd,hset,sadd,mset
}

postgres_bin() { find /usr/lib/postgresql -name initdb -printf '%h\n' | sort -V | tail -n 1; }
needs_postgres() { [ -n "$(postgres_bin 2>/dev/null)" ]; }
setup_postgres() {
	local bin
	bin=$(postgres_bin)
	runuser -u postgres -- "$bin/initdb" -D "$work/data/pg" -A trust
	runuser -u postgres -- "$bin/pg_ctl" -D "$work/data/pg" -w \
		-o "-p $(port_of postgres) -k $work/data -c listen_addresses=127.0.0.1 -c fsync=off" start
	runuser -u postgres -- "$bin/pgbench" -h 127.0.0.1 -p "$(port_of postgres)" -i -s 5 postgres
	runuser -u postgres -- "$bin/pg_ctl" -D "$work/data/pg" -w stop
	printf '%s\n' "SELECT bid, count(*), sum(abalance + aid % 7), max(md5(aid::text)) FROM pgbench_accounts" \
		"WHERE aid % 3 = 1 GROUP BY bid ORDER BY 2;" >data/report.sql
}
run_postgres() {
	exec runuser -u postgres -- "$(postgres_bin)/postgres" -D "$work/data/pg" -p "$(port_of postgres)" -k "$work/data" \
		-c listen_addresses=127.0.0.1 -c fsync=off
}
ready_postgres() { ready_at postgres; }
load_postgres() {
	local bench=("$(postgres_bin)/pgbench" -U postgres -h 127.0.0.1 -p "$(port_of postgres)" -n -T $((seconds + 20)))
	"${bench[@]}" -c 2 -S postgres &
	"${bench[@]}" -c 1 -f "$work/data/report.sql" postgres &
	"${bench[@]}" -c 1 postgres
}

needs_memcached() { has memcached && has python3; }
setup_memcached() { :; }
run_memcached() { exec memcached -u root -l 127.0.0.1 -p "$(port_of memcached)" -t 2 -m 64; }
ready_memcached() { ready_at memcached; }
load_memcached() { python3 -B "$here/memcached_load.py" "$(port_of memcached)" $((seconds + 20)); }

needs_haproxy() { has haproxy && has wrk; }
setup_haproxy() {
	cat >data/haproxy.cfg <<-END
		global
			nbthread 2
		defaults
			mode http
			timeout client 5s
			timeout server 5s
			timeout connect 5s
		frontend in
			bind 127.0.0.1:$(port_of haproxy)
			acl odd path_reg ^/[a-z]+[0-9]*\$
			http-request set-header X-Sum %[path,sha1,hex]
			http-request return status 200 content-type text/plain lf-string "%[path,sha1,hex]" if odd
			http-request deny
	END
}
run_haproxy() { exec haproxy -db -f "$work/data/haproxy.cfg"; }
ready_haproxy() { ready_at haproxy; }
load_haproxy() { wrk -t1 -c32 -d $((seconds + 20)) "http://127.0.0.1:$(port_of haproxy)/some1234"; }

# ---- interpreters

needs_python3() { [ -x /usr/bin/python3 ]; }
setup_python3() { :; }
run_python3() {
	/usr/bin/python3 -B "$here/scripts/work.py" &
	exec /usr/bin/python3 -B "$here/scripts/work.py"
}

needs_perl() { has perl; }
setup_perl() { make_text; }
run_perl() {
	again perl "$here/scripts/work.pl" "$work/data/text" >/dev/null &
	again perl "$here/scripts/work.pl" "$work/data/text" >/dev/null
}

needs_php() { has php; }
setup_php() { :; }
run_php() {
	php "$here/scripts/work.php" &
	exec php "$here/scripts/work.php"
}

needs_ruby() { has ruby; }
setup_ruby() { :; }
run_ruby() {
	ruby "$here/scripts/work.rb" &
	exec ruby "$here/scripts/work.rb"
}

needs_node() { has node; }
setup_node() { :; }
run_node() { exec node "$here/scripts/work.js"; }

needs_gawk() { has gawk; }
setup_gawk() { make_text; }
run_gawk() {
	local script='{ n = split($0, w, /[^A-Za-z_]+/); for (i = 1; i <= n; i++) c[w[i]]++ }
		END { for (x in c) s = s < c[x] ? c[x] : s; gsub(/a/, "b", x); print s, x }'
	LC_ALL=C again gawk "$script" data/text >/dev/null &
	again mawk "$script" data/text >/dev/null
}

needs_sqlite3() { has sqlite3; }
setup_sqlite3() {
	sqlite3 data/db "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL
		SELECT i + 1 FROM n WHERE i < 300000) INSERT INTO t SELECT i, hex(randomblob(12)), i * 0.37 FROM n;"
}
run_sqlite3() {
	local query="SELECT substr(b, 1, 2) AS p, count(*), sum(c), group_concat(length(b), '') FROM t WHERE b LIKE '%A%F%'
		GROUP BY p ORDER BY 3 DESC LIMIT 5; SELECT count(DISTINCT b || c) FROM t;"
	again sqlite3 data/db "$query" >/dev/null &
	again sqlite3 data/db "$query" >/dev/null
}

# ---- compilers and tools

names_git=git
needs_git() { has git; }
setup_git() {
	git init -q data/repo
	cp -r /usr/include /usr/lib/python3.11 data/repo/
	git -C data/repo add -A
	git -C data/repo -c user.name=x -c user.email=x@example.org commit -q -m all
}
run_git() { again git -C data/repo -c pack.threads=2 repack -q -a -d -f --window=30; }

names_cc1='g\+\+|cc1plus|as'
needs_cc1() { has g++; }
setup_cc1() {
	printf '#include <%s>\n' regex map unordered_map iostream algorithm functional vector string thread future >data/all.cc
	printf '%s\n' 'template<int N> std::map<std::string, int> f(std::map<std::string, int> m) {' \
		'std::regex r("a(b|c)*d" + std::to_string(N)); for (auto &p : m) if (std::regex_search(p.first, r)) p.second++;' \
		'if constexpr (N > 0) return f<N - 1>(m); else return m; }' 'int main() { return f<30>({}).size(); }' >>data/all.cc
}
run_cc1() {
	again g++ -std=c++17 -O2 -g -c data/all.cc -o data/1.o &
	again g++ -std=c++17 -O3 -c data/all.cc -o data/2.o
}

names_go='go|compile|asm|link|cgo|pack|buildid|vet'
needs_go() { has go; }
setup_go() { :; }
run_go() {
	export GOCACHE=$work/data/go GOTMPDIR=$work/data HOME=$work/data
	again go build -a -p 2 std
}

needs_ripgrep() { has rg; }
setup_ripgrep() { :; }
run_ripgrep() { again rg -j2 -c --no-messages '([A-Za-z]+_){2,}(init|free|[0-9]+)\b.*(struct|return)' /usr/include /usr/lib/python3.11 >/dev/null; }

needs_fd() { has fdfind; }
setup_fd() { :; }
run_fd() { again fdfind -j2 -u '(lib|inc).*[0-9]+\.(so|h|py)' /usr >/dev/null; }

# ---- numerical programs, hand-written assembly

needs_ffmpeg() { has ffmpeg; }
setup_ffmpeg() { :; }
run_ffmpeg() {
	exec ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=960x540:rate=30 -vf noise=alls=20:allf=t -c:v libx264 \
		-threads 2 -preset medium -f null -
}

needs_openssl() { has openssl; }
setup_openssl() { :; }
run_openssl() {
	openssl speed -seconds 2 rsa2048 ecdsap256 ecdsap384 dsa2048 sha256 aes-256-cbc camellia-128-cbc 2>/dev/null &
	openssl speed -seconds 9 -evp aes-256-gcm 2>/dev/null &
	openssl speed -seconds 9 -evp chacha20-poly1305 2>/dev/null &
	again openssl speed -seconds 3 sha512 md5 2>/dev/null
}

needs_xz() { has xz; }
setup_xz() { make_text; }
run_xz() { again xz -T2 --block-size=4MiB -6 -k -c data/text >/dev/null; }

needs_zstd() { has zstd; }
setup_zstd() { make_text; }
run_zstd() { again zstd -q -T2 -12 -c data/text >/dev/null; }

needs_bzip2() { has bzip2; }
setup_bzip2() { make_text; }
run_bzip2() {
	again bzip2 -k -c data/text >/dev/null &
	again gzip -9 -c data/text >/dev/null
}
