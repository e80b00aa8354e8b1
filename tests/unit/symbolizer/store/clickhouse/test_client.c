/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Against a real ClickHouse server. Only faults that the server does not show on demand (a
 * temporary error, a lost connection) are answered by an HTTP server of the test.
 */

#include "tests/unit/symbolizer/store/clickhouse/server_fixture.h"

#include <pthread.h>

#include "symbolizer/store/clickhouse/row_binary.h"
#include "tests/support/http_peer.h"

static void inserted_rows_are_selected_again(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	scoped(bytes_release) struct bytes rows = BYTES_INIT(MIB);
	struct clickhouse_query insert = { .sql = "INSERT INTO numbers_of_test FORMAT RowBinary" };

	skip_without_server(server);
	client = server_client(server, NULL);
	run_sql(client, "CREATE TABLE numbers_of_test (name String, value UInt64) ENGINE = Memory");
	for (uint64_t i = 0; i < 1000; i++) {
		row_add_text(&rows, i % 2 ? "odd" : "it's even\n");
		row_add_u64(&rows, i);
	}
	insert.rows = bytes_view_of(&rows);
	assert_ok(clickhouse_client_run(client, &insert));
	assert_int_equal(ask_number(client, "SELECT sum(value) FROM numbers_of_test"
					    " WHERE name = 'it\\x27s even\\x0A' FORMAT RowBinary"),
			 249500);
}

static void tables_of_a_query_can_be_joined(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	scoped(bytes_release) struct bytes rows = BYTES_INIT(MIB);
	struct clickhouse_table table = { .name = "factors", .structure = "n UInt64, f UInt64" };
	const struct clickhouse_query query = {
		.sql = "SELECT throwIf(sum(n * f) != 140) FROM (SELECT number AS n FROM"
		       " system.numbers LIMIT 10) ALL INNER JOIN factors USING (n)",
		.tables = &table,
		.n_tables = 1,
	};

	skip_without_server(server);
	client = server_client(server, NULL);
	row_add_u64(&rows, 4);
	row_add_u64(&rows, 10);
	row_add_u64(&rows, 5);
	row_add_u64(&rows, 20);
	table.rows = bytes_view_of(&rows);
	if (clickhouse_client_run(client, &query) < 0)
		fail_msg("%s", clickhouse_client_message(client));
}

static void an_error_names_server_query_code_and_text(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	const struct clickhouse_query query = { .sql = "SELECT 1\nFROM no_such_table" };
	const char *message;

	skip_without_server(server);
	client = server_client(server, NULL);
	assert_errno(clickhouse_client_run(client, &query), -EIO);
	message = clickhouse_client_message(client);
	assert_non_null(strstr(message, server->url));
	assert_non_null(strstr(message, "query 'SELECT 1', code 60: Table default.no_such_table"));
	assert_int_equal(clickhouse_client_code(client), 60);
}

static int count_row(void *arg, struct bytes_reader *row)
{
	uint64_t *n_rows = arg;

	(void)row_read_u64(row);
	if (row->error == 0)
		++*n_rows;
	return 0;
}

/* Without wait_end_of_query, the server would send rows and then the text of the error. */
static void a_query_that_fails_late_has_an_error_and_no_rows(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	uint64_t n_rows = 0;
	const struct clickhouse_query query = {
		.sql = "SELECT toUInt64(throwIf(number = 1000000)) FROM system.numbers"
		       " LIMIT 2000000 FORMAT RowBinary",
		.read_row = count_row,
		.arg = &n_rows,
	};

	skip_without_server(server);
	client = server_client(server, NULL);
	assert_errno(clickhouse_client_run(client, &query), -EIO);
	assert_int_equal(clickhouse_client_code(client), 395);
	assert_int_equal(n_rows, 0);
}

static void long_answers_are_streamed_and_limited(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	uint64_t n_rows = 0;
	struct clickhouse_query query = {
		.sql = "SELECT number FROM system.numbers LIMIT 3000000 FORMAT RowBinary",
		.read_row = count_row,
		.arg = &n_rows,
	};

	skip_without_server(server);
	client = server_client(server, NULL);
	assert_ok(clickhouse_client_run(client, &query));
	assert_int_equal(n_rows, 3000000);

	query.max_answer_bytes = MIB;
	assert_errno(clickhouse_client_run(client, &query), -EFBIG);
	assert_non_null(strstr(clickhouse_client_message(client), "too long"));
}

static int refuse_row(void *arg, struct bytes_reader *row)
{
	(void)arg;
	(void)row_read_u64(row);
	return row->error < 0 ? 0 : -EDOM;
}

static void a_result_of_read_row_ends_the_query(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	const struct clickhouse_query query = {
		.sql = "SELECT number FROM system.numbers LIMIT 3000000 FORMAT RowBinary",
		.idempotent = true,
		.read_row = refuse_row,
	};

	skip_without_server(server);
	client = server_client(server, NULL);
	assert_errno(clickhouse_client_run(client, &query), -EDOM);
	assert_int_equal(ask_number(client, "SELECT toUInt64(7) FORMAT RowBinary"), 7);
}

static void an_answer_that_ends_within_a_row_is_an_error(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	uint64_t n_rows = 0;
	const struct clickhouse_query query = {
		.sql = "SELECT toUInt8(1) FORMAT RowBinary",
		.read_row = count_row,
		.arg = &n_rows,
	};

	skip_without_server(server);
	client = server_client(server, NULL);
	assert_errno(clickhouse_client_run(client, &query), -EBADMSG);
}

static void a_query_too_long_for_a_url_is_refused(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	char sql[CLICKHOUSE_MAX_URL_BYTES + 1];
	const struct clickhouse_query query = {
		.sql = sql,
		.rows = { .data = (const uint8_t *)"x", .size = 1 },
	};

	skip_without_server(server);
	client = server_client(server, NULL);
	memset(sql, 'x', sizeof(sql));
	sql[sizeof(sql) - 1] = '\0';
	assert_errno(clickhouse_client_run(client, &query), -E2BIG);
}

/* Waits until the server runs no query but this one. */
static void wait_until_idle(struct clickhouse_client *client)
{
	while (ask_number(client, "SELECT count() FROM system.processes FORMAT RowBinary") > 1)
		;
}

#define ENDLESS_QUERY "SELECT sum(number) FROM system.numbers"

static void a_query_that_times_out_ends_on_the_server(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	const struct clickhouse_query query = {
		.sql = ENDLESS_QUERY,
		/* Long enough for the query to start on a busy machine: one that has not started
		 * cannot be killed. */
		.timeout_ns = 3 * NSEC_PER_SEC,
		.idempotent = true,
	};

	skip_without_server(server);
	client = server_client(server, NULL);
	assert_errno(clickhouse_client_run(client, &query), -ETIMEDOUT);
	assert_non_null(strstr(clickhouse_client_message(client), ENDLESS_QUERY));
	wait_until_idle(client);
}

struct canceller {
	const struct clickhouse_server *server;
	struct cancel cancel;
};

static void *cancel_running_query(void *arg)
{
	struct canceller *canceller = arg;
	scoped(clickhouse_client_freep) struct clickhouse_client *client =
		server_client(canceller->server, NULL);

	while (ask_number(client, "SELECT count() FROM system.processes FORMAT RowBinary") < 2)
		;
	cancel_request(&canceller->cancel);
	return NULL;
}

static void a_cancelled_query_ends_on_the_server(void **state)
{
	struct canceller canceller = { .server = *state };
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	const struct clickhouse_query query = {
		.sql = ENDLESS_QUERY,
		.cancel = &canceller.cancel,
		.idempotent = true,
	};
	pthread_t thread;

	skip_without_server(canceller.server);
	client = server_client(canceller.server, NULL);
	assert_int_equal(pthread_create(&thread, NULL, cancel_running_query, &canceller), 0);
	assert_errno(clickhouse_client_run(client, &query), -ECANCELED);
	assert_int_equal(pthread_join(thread, NULL), 0);
	wait_until_idle(client);
}

static void user_password_and_database_are_used(void **state)
{
	const struct clickhouse_server *server = *state;
	struct clickhouse_options options = {
		.url = server->url,
		.database = "system",
		.user = "hearth",
		.password = "s3cret",
	};
	const struct clickhouse_query query = { .sql = "SELECT 1 FROM numbers LIMIT 1" };
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	scoped(clickhouse_client_freep) struct clickhouse_client *stranger = NULL;

	skip_without_server(server);
	assert_ok(clickhouse_client_new(&options, &client));
	assert_ok(clickhouse_client_run(client, &query));

	options.password = "wrong";
	assert_ok(clickhouse_client_new(&options, &stranger));
	assert_errno(clickhouse_client_run(stranger, &query), -EACCES);
	assert_null(strstr(clickhouse_client_message(stranger), "wrong"));
}

/* Fails the first requests. */
struct faulty {
	unsigned int status; /* of a failing request; 0: the connection is closed */
	const char *text;
	unsigned int n_failing;
	unsigned int n_requests;
};

static void answer_faulty(void *arg, const struct http_peer_request *request,
			  struct http_peer_answer *answer)
{
	struct faulty *faulty = arg;

	(void)request;
	answer->status = 200;
	answer->body = BYTES_INIT(KIB);
	if (faulty->n_requests++ >= faulty->n_failing)
		return;
	answer->status = faulty->status;
	assert_ok(bytes_append_text(&answer->body, faulty->text));
}

static int ask_faulty(struct faulty *faulty, bool idempotent)
{
	const struct clickhouse_query query = { .sql = "SELECT 1", .idempotent = idempotent };
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	struct http_peer *peer = NULL;
	char url[64];
	int r;

	assert_ok(http_peer_start(0, answer_faulty, faulty, &peer));
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/", http_peer_port(peer));
	assert_ok(clickhouse_client_new(&(struct clickhouse_options){ .url = url }, &client));
	r = clickhouse_client_run(client, &query);
	(void)http_peer_stop(peer);
	return r;
}

static void only_idempotent_queries_are_sent_again(void **state)
{
	static const char busy[] = "Code: 202. DB::Exception: Too many simultaneous queries.";
	static const struct {
		struct faulty faulty;
		bool idempotent;
		int result;
		unsigned int n_requests;
	} cases[] = {
		{ { 500, busy, 2, 0 }, true, 0, 3 },
		{ { 500, busy, 2, 0 }, false, -EIO, 1 },
		{ { 500, busy, 100, 0 }, true, -EIO, 4 },
		{ { 503, "", 1, 0 }, true, 0, 2 },
		{ { 500, "Code: 62. DB::Exception: Syntax error", 2, 0 }, true, -EIO, 1 },
		{ { 500, "Code: 243. DB::Exception: No space", 2, 0 }, true, -ENOSPC, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct faulty faulty = cases[i].faulty;

		assert_errno(ask_faulty(&faulty, cases[i].idempotent), cases[i].result);
		assert_int_equal(faulty.n_requests, cases[i].n_requests);
	}
}

static void a_lost_connection_is_no_answer(void **state)
{
	struct faulty lost = { .text = "", .n_failing = 1 };
	struct faulty again = { .text = "", .n_failing = 1 };

	(void)state;
	assert_errno(ask_faulty(&lost, false), -EIO);
	assert_errno(ask_faulty(&again, true), 0);
	assert_int_equal(again.n_requests, 2);
}

static void an_unreachable_server_is_reported(void **state)
{
	struct faulty unused = { .text = "" };
	const struct clickhouse_query query = { .sql = "SELECT 1" };
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	struct http_peer *peer = NULL;
	scoped_fd int fd = -1;
	char url[64];

	(void)state;
	assert_ok(http_peer_start(0, answer_faulty, &unused, &peer));
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", http_peer_port(peer));
	fd = http_peer_keep_port(peer);
	assert_true(fd >= 0);
	(void)http_peer_stop(peer);
	assert_ok(clickhouse_client_new(&(struct clickhouse_options){ .url = url }, &client));
	assert_errno(clickhouse_client_run(client, &query), -ECONNREFUSED);
	assert_non_null(strstr(clickhouse_client_message(client), url));
}

static struct clickhouse_client *client_of(const char *urls)
{
	struct clickhouse_client *client = NULL;

	assert_ok(clickhouse_client_new(&(struct clickhouse_options){ .url = urls }, &client));
	return client;
}

static void the_next_server_is_asked_if_one_fails(void **state)
{
	static const char readonly[] = "Code: 242. DB::Exception: Table is in readonly mode";
	const struct clickhouse_query query = { .sql = "SELECT 1", .idempotent = true };
	const struct clickhouse_query single = { .sql = "SELECT 1",
						 .idempotent = true,
						 .is_single_attempt = true };
	struct faulty bad = { 500, readonly, 1000, 0 }, good = { 500, "", 0, 0 };
	struct http_peer *bad_peer = NULL, *good_peer = NULL;
	char both[160], bad_only[64];

	(void)state;
	assert_ok(http_peer_start(0, answer_faulty, &bad, &bad_peer));
	assert_ok(http_peer_start(0, answer_faulty, &good, &good_peer));
	(void)snprintf(bad_only, sizeof(bad_only), "http://127.0.0.1:%u", http_peer_port(bad_peer));
	(void)snprintf(both, sizeof(both), "%s/, http://127.0.0.1:%u/", bad_only,
		       http_peer_port(good_peer));
	/* A client begins with either server; the one that fails is asked once by each client. */
	for (unsigned int i = 1; i <= 20; i++) {
		scoped(clickhouse_client_freep) struct clickhouse_client *client = client_of(both);

		assert_ok(clickhouse_client_run(client, i % 2 ? &query : &single));
		assert_ok(clickhouse_client_run(client, &single));
		assert_int_equal(good.n_requests, 2 * i);
	}
	assert_true(bad.n_requests <= 20);
	{
		scoped(clickhouse_client_freep) struct clickhouse_client *client =
			client_of(bad_only);

		bad.n_requests = 0;
		assert_errno(clickhouse_client_run(client, &single), -EIO);
		assert_int_equal(bad.n_requests, 1);
	}
	(void)http_peer_stop(bad_peer);
	(void)http_peer_stop(good_peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inserted_rows_are_selected_again),
		cmocka_unit_test(tables_of_a_query_can_be_joined),
		cmocka_unit_test(an_error_names_server_query_code_and_text),
		cmocka_unit_test(a_query_that_fails_late_has_an_error_and_no_rows),
		cmocka_unit_test(long_answers_are_streamed_and_limited),
		cmocka_unit_test(a_result_of_read_row_ends_the_query),
		cmocka_unit_test(an_answer_that_ends_within_a_row_is_an_error),
		cmocka_unit_test(a_query_too_long_for_a_url_is_refused),
		cmocka_unit_test(a_query_that_times_out_ends_on_the_server),
		cmocka_unit_test(a_cancelled_query_ends_on_the_server),
		cmocka_unit_test(user_password_and_database_are_used),
		cmocka_unit_test(only_idempotent_queries_are_sent_again),
		cmocka_unit_test(a_lost_connection_is_no_answer),
		cmocka_unit_test(the_next_server_is_asked_if_one_fails),
		cmocka_unit_test(an_unreachable_server_is_reported),
	};

	return cmocka_run_group_tests(tests, server_group_setup, server_group_teardown);
}
