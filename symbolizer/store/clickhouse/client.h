/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sends queries to a ClickHouse server over its HTTP interface, one at a time, over a kept
 * connection. A client is used by one thread at a time.
 *
 * The server sends an answer only when the query has ended (wait_end_of_query), so that a query
 * that fails late has an error instead of a part of its rows. Rows are then read while they arrive:
 * an answer of any size needs memory for one row.
 *
 * A failed query is sent again only if it is idempotent, or if the server cannot have received it.
 * The server also ends a query whose client stops waiting for it (cancel, timeout). With several
 * servers, the next attempt asks the next server.
 *
 * In a cluster, an INSERT is answered once the rows are on one server of each shard, and queries
 * within queries run on all shards.
 */

#include "common/bytes.h"
#include "common/cancel.h"
#include "common/scoped.h"

struct clickhouse_client;

/* Strings are copied. */
struct clickhouse_options {
	/* "http://host:8123"; a path after it is kept; several of a cluster, with commas */
	const char *url;
	const char *database;        /* NULL: the user's */
	const char *user;            /* NULL: "default" */
	const char *password;        /* NULL: none */
	const char *ca_file;         /* NULL: the system's CA certificates */
	const char *cluster;         /* NULL: one server */
	const struct cancel *cancel; /* of queries without one; borrowed; NULL: none */
};

/* A table that exists during one query only. */
struct clickhouse_table {
	const char *name;
	const char *structure;  /* "id FixedString(16), factor UInt64" */
	struct bytes_view rows; /* RowBinary */
};

/* Most tables of a query. */
#define CLICKHOUSE_MAX_TABLES 4

/*
 * Most bytes of a query that has rows or tables: it is a part of the URL then, escaped, and the
 * server accepts URLs of 16 KiB.
 */
#define CLICKHOUSE_MAX_URL_BYTES (15 * KIB)

/* Most bytes of one row of an answer. */
#define CLICKHOUSE_MAX_ROW_BYTES (64 * MIB)

struct clickhouse_query {
	const char *sql;
	struct bytes_view rows;                /* RowBinary for "INSERT ... FORMAT RowBinary" */
	const struct clickhouse_table *tables; /* [n_tables] instead of rows */
	size_t n_tables;
	const char *settings; /* more URL parameters, "max_threads=2&..."; NULL: none */
	bool idempotent;
	bool is_single_attempt;    /* a failure is returned at once, of several servers the last */
	bool is_without_database;  /* the options' database may not exist yet */
	uint64_t timeout_ns;       /* of each attempt; 0: CLICKHOUSE_TIMEOUT_NS */
	uint64_t max_answer_bytes; /* -EFBIG above it; 0: no limit */
	const struct cancel *cancel; /* -ECANCELED; NULL: that of the client's options */
	bool is_cleanup; /* no cancel ends it, and each attempt has CLICKHOUSE_CLEANUP_NS */

	/*
	 * Reads one row of "SELECT ... FORMAT RowBinary". If row->error is set then, the row has
	 * not arrived completely: the function must have no effect and return 0, and is called
	 * again with more bytes. A result < 0 ends the query with it. NULL: the answer is ignored.
	 */
	int (*read_row)(void *arg, struct bytes_reader *row);
	void *arg;
};

#define CLICKHOUSE_TIMEOUT_NS (60 * NSEC_PER_SEC)
#define CLICKHOUSE_CLEANUP_NS (10 * NSEC_PER_SEC)

int clickhouse_client_new(const struct clickhouse_options *options,
			  struct clickhouse_client **ret_client);
struct clickhouse_client *clickhouse_client_free(struct clickhouse_client *client);

/*
 * 0, or an error that clickhouse_client_message() describes: -ECONNREFUSED no connection,
 * -ETIMEDOUT, -EACCES user or password, -ENOSPC the server's disk is full, -ENOMEM also a memory
 * limit of the server, -EBADMSG an answer with other rows than read_row() expects, -E2BIG the query
 * is too long, -ECANCELED, -EFBIG, results of read_row(), and else -EIO.
 */
int clickhouse_client_run(struct clickhouse_client *client, const struct clickhouse_query *query);

/*
 * Of the last failed query: "'http://host:8123', query 'SELECT 1', code 62: Syntax error". Valid
 * until the next query.
 */
const char *clickhouse_client_message(const struct clickhouse_client *client);

/* The number of servers in options.url. */
size_t clickhouse_client_n_servers(const struct clickhouse_client *client);

/*
 * The following queries ask the next server. To do something on each server: repeat it for the
 * number of servers. A server that is away is skipped, as in all queries.
 */
void clickhouse_client_next_server(struct clickhouse_client *client);

/* ClickHouse's code of the last error. 0: the error was not ClickHouse's. */
unsigned int clickhouse_client_code(const struct clickhouse_client *client);

DEFINE_SCOPED(struct clickhouse_client *, clickhouse_client_free);
