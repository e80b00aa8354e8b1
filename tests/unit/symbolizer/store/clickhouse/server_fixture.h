/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A ClickHouse server of this test program: a child process with its files in a temporary folder,
 * which listens on a port of loopback that the kernel chooses. The server ends with the program.
 *
 *   int main(void)
 *   {
 *           return cmocka_run_group_tests(tests, server_group_setup, server_group_teardown);
 *   }
 *
 * The state of each test is a struct clickhouse_server. A test begins with skip_without_server().
 */

#include <sys/types.h>

#include "symbolizer/store/clickhouse/client.h"
#include "tests/support/unit.h"

struct clickhouse_server {
	pid_t pid; /* 0: clickhouse-server is not installed */
	char *folder;
	char url[64];
};

int server_group_setup(void **state);
int server_group_teardown(void **state);

/* Skips the test, after a message, if clickhouse-server is not installed. */
#define skip_without_server(server)                                                                \
	do {                                                                                       \
		if ((server)->pid == 0) {                                                          \
			print_message("clickhouse-server is not installed\n");                     \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

/* Ends the server. Its port stays closed until server_start(), which chooses another one. */
void server_stop(struct clickhouse_server *server);
void server_start(struct clickhouse_server *server);

/* @database NULL: "default". */
struct clickhouse_client *server_client(const struct clickhouse_server *server,
					const char *database);

/* Runs a query without an answer. */
void run_sql(struct clickhouse_client *client, const char *sql);

/* Runs a query with one row that is one UInt64. */
uint64_t ask_number(struct clickhouse_client *client, const char *sql);
