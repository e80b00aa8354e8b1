/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A server process that stores batches of some agents and acknowledges each, until it is killed.
 * Tests check then that every acknowledged batch is stored exactly once.
 */

#include <dirent.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <time.h>

#include "common/limits.h"
#include "tests/support/unit.h"

struct killed_server {
	void (*serve)(struct killed_server *server); /* in the child; must not return */
	void *context;                               /* of the test */
	uint64_t *next;                              /* [agent]: the first batch that is sent */
	int acknowledge_fd;                          /* set before serve() is called */
};

struct acknowledgement {
	uint64_t agent, sequence;
};

/* Called by the server. @agent is an index of next. */
static inline void killed_server_acknowledge(const struct killed_server *server, uint64_t agent,
					     uint64_t sequence)
{
	const struct acknowledgement one = { agent, sequence };

	if (write(server->acknowledge_fd, &one, sizeof(one)) != sizeof(one))
		_exit(100);
}

static inline bool killed_server_receive(int fd, uint64_t *acknowledged)
{
	struct acknowledgement one;

	if (read(fd, &one, sizeof(one)) != sizeof(one))
		return false;
	acknowledged[one.agent] = MAX(acknowledged[one.agent], one.sequence);
	return true;
}

/*
 * Runs the server, and kills it @delay_ns after its first acknowledgement, or after its start if
 * not @wait. Updates @acknowledged, the last sequence of each agent.
 */
static inline void killed_server_run(struct killed_server *server, bool wait, long delay_ns,
				     uint64_t *acknowledged)
{
	const struct timespec delay = { .tv_nsec = delay_ns };
	int fds[2];
	int status;
	pid_t pid;

	assert_ok(pipe2(fds, O_CLOEXEC));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(fds[0]);
		server->acknowledge_fd = fds[1];
		server->serve(server);
	}
	(void)close(fds[1]);
	if (wait)
		(void)killed_server_receive(fds[0], acknowledged);
	(void)nanosleep(&delay, NULL);
	assert_ok(kill(pid, SIGKILL));
	while (killed_server_receive(fds[0], acknowledged))
		;
	(void)close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status))
		fail_msg("the server ended with status %d", WEXITSTATUS(status));
}

/* HEARTH_CRASH_KILLS, the number of kills, or @otherwise. */
static inline uint64_t killed_server_kills(uint64_t otherwise)
{
	const char *text = getenv("HEARTH_CRASH_KILLS");

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static inline void assert_database_intact(const char *path)
{
	sqlite3_stmt *row = NULL;
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &row, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(row, 0), "ok");
	(void)sqlite3_finalize(row);
	(void)sqlite3_close(db);
}

/* Checks all SQLite databases in @folder. */
static inline void assert_databases_intact(const char *folder)
{
	DIR *entries = opendir(folder);
	const struct dirent *entry;

	assert_non_null(entries);
	while ((entry = readdir(entries))) {
		const char *end = strrchr(entry->d_name, '.');

		if (end && strcmp(end, ".db") == 0) {
			scoped_free char *path = path_in(folder, entry->d_name);

			assert_database_intact(path);
		}
	}
	(void)closedir(entries);
}
