/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/clickhouse/server_fixture.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "symbolizer/store/clickhouse/row_binary.h"

/* The server takes less than a second. On a busy machine, starting may take this long. */
#define START_DEADLINE_S 100
#define START_STEP_NS    (50 * NSEC_PER_MSEC)

static const char config[] =
	"<yandex><logger><level>none</level></logger><http_port>0</http_port>"
	"<listen_host>127.0.0.1</listen_host><path>%s/data/</path><tmp_path>%s/tmp/</tmp_path>"
	"<users_config>users.xml</users_config><default_profile>default</default_profile>"
	"<default_database>default</default_database>"
	"<mark_cache_size>16777216</mark_cache_size></yandex>";

static const char users[] =
	"<yandex><profiles><default/></profiles><quotas><default/></quotas><users>"
	"<default><password></password><networks><ip>127.0.0.1</ip></networks>"
	"<profile>default</profile><quota>default</quota></default>"
	"<hearth><password>s3cret</password><networks><ip>127.0.0.1</ip></networks>"
	"<profile>default</profile><quota>default</quota></hearth></users></yandex>";

static const char *find_program(void)
{
	static const char *const paths[] = { "/usr/sbin/clickhouse-server",
					     "/usr/bin/clickhouse-server" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (access(paths[i], X_OK) == 0)
			return paths[i];
	return NULL;
}

static void make_folder(const char *folder, const char *name)
{
	scoped_free char *path = path_in(folder, name);

	assert_int_equal(mkdir(path, 0700), 0);
}

static void write_files(const struct clickhouse_server *server)
{
	scoped_free char *text = NULL, *config_path = NULL, *users_path = NULL;

	assert_true(asprintf(&text, config, server->folder, server->folder) > 0);
	config_path = write_file_in(server->folder, "config.xml", text, strlen(text));
	users_path = write_file_in(server->folder, "users.xml", users, strlen(users));
	make_folder(server->folder, "data");
	make_folder(server->folder, "tmp");
}

/* The inode of the socket behind a descriptor of the server, or 0. */
static unsigned long socket_inode(pid_t pid, const char *fd)
{
	char path[64], target[64] = "";
	unsigned long inode = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%.20s", (int)pid, fd);
	if (readlink(path, target, sizeof(target) - 1) < 0)
		return 0;
	return sscanf(target, "socket:[%lu]", &inode) == 1 ? inode : 0;
}

/* The port on which this socket listens, or 0. */
static unsigned int port_of(unsigned long inode)
{
	scoped_file FILE *file = fopen("/proc/self/net/tcp", "re");
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		unsigned int port, state;
		unsigned long found;

		if (sscanf(line, "%*d: %*x:%x %*x:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %lu", &port,
			   &state, &found) == 3 &&
		    state == 0x0a && found == inode)
			return port;
	}
	return 0;
}

/* The port of the server, or 0: it does not listen yet. */
static unsigned int find_port(pid_t pid)
{
	char path[32];
	const struct dirent *entry;
	unsigned int port = 0;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	folder = opendir(path);
	while (folder && port == 0 && (entry = readdir(folder))) {
		unsigned long inode = socket_inode(pid, entry->d_name);

		port = inode ? port_of(inode) : 0;
	}
	if (folder)
		(void)closedir(folder);
	return port;
}

static void run_server(const struct clickhouse_server *server, const char *program)
{
	scoped_free char *option = NULL, *output = path_in(server->folder, "output.log");
	int fd = open(output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	/* The server must not survive a test program that fails. */
	if (fd < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || dup2(fd, STDOUT_FILENO) < 0 ||
	    dup2(fd, STDERR_FILENO) < 0 ||
	    asprintf(&option, "--config-file=%s/config.xml", server->folder) < 0)
		_exit(1);
	(void)execl(program, program, option, NULL);
	_exit(1);
}

void server_start(struct clickhouse_server *server)
{
	static const struct timespec step = { .tv_nsec = START_STEP_NS };
	const struct clickhouse_query ping = { .sql = "SELECT 1", .idempotent = true };
	const uint64_t n_steps = START_DEADLINE_S * NSEC_PER_SEC / START_STEP_NS;
	unsigned int port = 0;

	server->pid = fork();
	assert_true(server->pid >= 0);
	if (server->pid == 0)
		run_server(server, find_program());
	for (uint64_t i = 0; i < n_steps && port == 0; i++) {
		assert_int_equal(waitpid(server->pid, NULL, WNOHANG), 0);
		port = find_port(server->pid);
		(void)nanosleep(&step, NULL);
	}
	assert_true(port != 0);
	(void)snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%u", port);
	{
		scoped(clickhouse_client_freep) struct clickhouse_client *client =
			server_client(server, NULL);

		assert_ok(clickhouse_client_run(client, &ping));
	}
}

void server_stop(struct clickhouse_server *server)
{
	assert_int_equal(kill(server->pid, SIGKILL), 0);
	assert_int_equal(waitpid(server->pid, NULL, 0), server->pid);
}

int server_group_setup(void **state)
{
	struct clickhouse_server *server = calloc(1, sizeof(*server));
	void *folder = NULL;

	if (!server || temp_folder_setup(&folder) < 0)
		return -1;
	server->folder = folder;
	*state = server;
	if (!find_program())
		return 0;
	write_files(server);
	server_start(server);
	return 0;
}

int server_group_teardown(void **state)
{
	struct clickhouse_server *server = *state;
	void *folder = server->folder;

	if (server->pid)
		server_stop(server);
	free(server);
	return temp_folder_teardown(&folder);
}

struct clickhouse_client *server_client(const struct clickhouse_server *server,
					const char *database)
{
	const struct clickhouse_options options = { .url = server->url, .database = database };
	struct clickhouse_client *client = NULL;

	assert_ok(clickhouse_client_new(&options, &client));
	return client;
}

static void run(struct clickhouse_client *client, const struct clickhouse_query *query)
{
	int r = clickhouse_client_run(client, query);

	if (r < 0)
		fail_msg("%s: %s", strerror(-r), clickhouse_client_message(client));
}

void run_sql(struct clickhouse_client *client, const char *sql)
{
	run(client, &(struct clickhouse_query){ .sql = sql });
}

struct answer {
	uint64_t number;
	size_t n_rows;
};

static int read_number(void *arg, struct bytes_reader *row)
{
	uint64_t number = row_read_u64(row);
	struct answer *answer = arg;

	if (row->error < 0)
		return 0;
	answer->number = number;
	answer->n_rows++;
	return 0;
}

uint64_t ask_number(struct clickhouse_client *client, const char *sql)
{
	struct answer answer = {};
	const struct clickhouse_query query = {
		.sql = sql,
		.read_row = read_number,
		.arg = &answer,
	};

	run(client, &query);
	assert_int_equal(answer.n_rows, 1);
	return answer.number;
}
