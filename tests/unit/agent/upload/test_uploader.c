/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads to a server that keeps the last one. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "agent/executable/elf_extract.h"
#include "agent/upload/sender.h"
#include "common/log.h"
#include "common/pieced_file.h"
#include "tests/support/http_peer.h"
#include "tests/support/unit.h"
#define UPLOAD_LIMIT_MS 20000

struct server {
	struct http_peer *peer;
	pthread_mutex_t lock;
	unsigned int status; /* of the answers; 0: closes the connection */
	unsigned int n_requests;
	char method[16], path[256], origin[32], content_type[64];
	struct bytes body;
};

static void on_request(void *argument, const struct http_peer_request *request,
		       struct http_peer_answer *answer)
{
	struct server *server = argument;

	(void)pthread_mutex_lock(&server->lock);
	server->n_requests++;
	(void)snprintf(server->method, sizeof(server->method), "%s", request->method);
	(void)snprintf(server->path, sizeof(server->path), "%s", request->path);
	(void)snprintf(server->origin, sizeof(server->origin), "%s", request->origin);
	(void)snprintf(server->content_type, sizeof(server->content_type), "%s",
		       request->content_type);
	bytes_clear(&server->body);
	assert_ok(bytes_append(&server->body, request->body.data, request->body.size));
	answer->status = server->status;
	(void)pthread_mutex_unlock(&server->lock);
}

static struct server *new_server(unsigned int status)
{
	struct server *server = calloc(1, sizeof(*server));

	assert_non_null(server);
	(void)pthread_mutex_init(&server->lock, NULL);
	server->status = status;
	server->body = BYTES_INIT(64 * MIB);
	assert_ok(http_peer_start(0, on_request, server, &server->peer));
	return server;
}

static void free_server(struct server *server)
{
	(void)http_peer_stop(server->peer);
	bytes_release(&server->body);
	(void)pthread_mutex_destroy(&server->lock);
	free(server);
}

static struct sender *new_sender(const struct server *server, uint64_t bytes_per_s)
{
	char url[64];
	const struct sender_options options = {
		.server = url,
		.memory_max_bytes = MIB,
		.retry_max_ns = NSEC_PER_MSEC,
		.upload_bytes_per_s = bytes_per_s,
	};
	struct sender *sender = NULL;

	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/", http_peer_port(server->peer));
	assert_ok(sender_new(&options, &sender));
	return sender;
}

static struct sender_stats wait_for_uploads(struct sender *sender, uint64_t count)
{
	struct sender_stats stats;

	for (unsigned int i = 0; i < UPLOAD_LIMIT_MS; i++) {
		sender_stats(sender, &stats);
		if (stats.uploads_done + stats.uploads_failed >= count)
			return stats;
		(void)poll(NULL, 0, 1);
	}
	fail_msg("the upload does not end in time");
	return stats;
}

static struct executable_id some_id(void)
{
	struct executable_id id;

	assert_ok(executable_id_parse("0123456789abcdef0123456789abcdef01234567", &id));
	return id;
}

static int own_program(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_ok(fd);
	return fd;
}

/* Writes the extract of @fd, as a helper of the agent does. */
static int extract_of(int fd, uint32_t what)
{
	int pieces_fd = memfd_create("extract", MFD_CLOEXEC);

	assert_true(pieces_fd >= 0);
	assert_ok(elf_extract_write(fd, what, pieces_fd));
	return pieces_fd;
}

static int take(struct sender *sender, const struct executable_id *id, const char *name,
		uint32_t what, int fd, struct bytes *content)
{
	return sender_upload_take(
		sender, &(struct sender_upload){ .id = *id,
						 .name = name,
						 .what = what,
						 .is_trusted = true,
						 .fd = fd,
						 .pieces_fd = fd >= 0 ? extract_of(fd, what) : -1,
						 .content = content });
}

static void the_server_gets_the_extract_of_the_executable(void **state)
{
	struct server *server = new_server(201);
	struct sender *sender = new_sender(server, GIB);
	struct executable_id id = some_id();
	struct pieced_file extract;
	scoped_fd int fd = own_program();
	scoped_fd int pieces_fd = -1;
	struct sender_stats stats;
	uint8_t *expected;

	(void)state;
	assert_ok(take(sender, &id, "program", EXTRACT_DEBUG, own_program(), NULL));
	stats = wait_for_uploads(sender, 1);
	assert_int_equal(stats.uploads_done, 1);

	pieces_fd = extract_of(fd, EXTRACT_DEBUG);
	assert_ok(pieced_file_open(pieces_fd, fd, &extract));
	assert_int_equal(stats.upload_bytes, extract.size);
	assert_string_equal(server->method, "PUT");
	assert_string_equal(server->path, "/v1/debuginfo/0123456789abcdef0123456789abcdef01234567");
	assert_string_equal(server->origin, "agent");
	assert_string_equal(server->content_type, "application/octet-stream");
	assert_int_equal(server->body.size, extract.size);
	expected = malloc(server->body.size);
	assert_non_null(expected);
	assert_ok(pieced_file_read(&extract, expected, server->body.size));
	assert_memory_equal(server->body.data, expected, server->body.size);
	free(expected);
	(void)sender_free(sender);
	free_server(server);
}

static void a_file_that_others_can_write_is_marked(void **state)
{
	struct server *server = new_server(201);
	struct sender *sender = new_sender(server, GIB);
	int fd = own_program();

	(void)state;
	assert_ok(sender_upload_take(
		sender, &(struct sender_upload){ .id = some_id(),
						 .name = "program",
						 .what = EXTRACT_SYMBOLS,
						 .fd = fd,
						 .pieces_fd = extract_of(fd, EXTRACT_SYMBOLS) }));
	(void)wait_for_uploads(sender, 1);
	assert_string_equal(server->origin, "agent-user");
	(void)sender_free(sender);
	free_server(server);
}

static void a_file_in_memory_is_sent_unchanged(void **state)
{
	struct server *server = new_server(200);
	struct sender *sender = new_sender(server, GIB);
	struct executable_id id = some_id();
	struct bytes content = BYTES_INIT(4 * MIB);

	(void)state;
	for (uint32_t i = 0; i < 100000; i++)
		assert_ok(bytes_append(&content, &i, sizeof(i)));
	assert_ok(take(sender, &id, "[kernel]", 3, -1, &content));
	assert_int_equal(content.size, 0);
	(void)wait_for_uploads(sender, 1);
	assert_int_equal(server->body.size, 400000);
	for (uint32_t i = 0; i < 100000; i++)
		assert_memory_equal(server->body.data + i * sizeof(i), &i, sizeof(i));
	bytes_release(&content);
	(void)sender_free(sender);
	free_server(server);
}

static void refusals_are_final_and_malformed_pieces_are_not_sent(void **state)
{
	struct server *server = new_server(400);
	struct sender *sender = new_sender(server, GIB);
	struct executable_id id = some_id();
	scoped_free char *path = write_file_in(*state, "text", "no pieces of a program", 22);
	struct sender_stats stats;

	assert_ok(take(sender, &id, "program", EXTRACT_SYMBOLS, own_program(), NULL));
	stats = wait_for_uploads(sender, 1);
	assert_int_equal(stats.uploads_failed, 1);
	assert_int_equal(server->n_requests, 1);
	assert_ok(sender_upload_take(
		sender, &(struct sender_upload){ .id = id,
						 .name = "program",
						 .what = EXTRACT_DEBUG,
						 .fd = own_program(),
						 .pieces_fd = open(path, O_RDONLY | O_CLOEXEC) }));
	stats = wait_for_uploads(sender, 2);
	assert_int_equal(stats.uploads_failed, 2);
	assert_int_equal(server->n_requests, 1);
	(void)sender_free(sender);
	free_server(server);
}

/* Another thread may open a different file under the number of a closed descriptor. */
static bool is_open_on_own_program(int fd)
{
	scoped_fd int own = own_program();
	struct stat file, program;

	assert_ok(fstat(own, &program));
	return fd != own && fstat(fd, &file) == 0 && file.st_dev == program.st_dev &&
	       file.st_ino == program.st_ino;
}

/*
 * The server requests from each agent the files that it does not have, including those that it
 * would refuse again.
 */
static void a_refused_file_is_not_sent_again(void **state)
{
	static const struct {
		unsigned int status, n_requests;
	} cases[] = { { 400, 1 }, { 413, 1 }, { 401, 2 }, { 403, 2 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct server *server = new_server(cases[i].status);
		struct sender *sender = new_sender(server, GIB);
		struct executable_id id = some_id();

		assert_ok(take(sender, &id, "program", EXTRACT_SYMBOLS, own_program(), NULL));
		assert_int_equal(wait_for_uploads(sender, 1).uploads_failed, 1);
		assert_ok(take(sender, &id, "program", EXTRACT_SYMBOLS, own_program(), NULL));
		assert_int_equal(wait_for_uploads(sender, 2).uploads_failed, 2);
		assert_int_equal(server->n_requests, cases[i].n_requests);
		/* Other sections of the file, or another file, may be accepted. */
		assert_ok(take(sender, &id, "program", EXTRACT_DEBUG, own_program(), NULL));
		assert_int_equal(wait_for_uploads(sender, 3).uploads_failed, 3);
		assert_int_equal(server->n_requests, cases[i].n_requests + 1);
		sender_free(sender);
		free_server(server);
	}
}

static void uploads_beyond_the_queue_are_refused(void **state)
{
	/* At 1 byte/s the first upload does not end. */
	struct server *server = new_server(200);
	struct sender *sender = new_sender(server, 1);
	struct executable_id id = some_id();
	unsigned int accepted = 0;
	int fd = -1, r = 0;

	(void)state;
	while (r == 0 && accepted < 100) {
		fd = own_program();
		r = take(sender, &id, "program", EXTRACT_SYMBOLS, fd, NULL);
		accepted += r == 0;
	}
	assert_errno(r, -EBUSY);
	assert_true(accepted >= 4 && accepted < 10);
	assert_false(is_open_on_own_program(fd));
	/* While the first upload is in progress. */
	(void)sender_free(sender);
	free_server(server);
}

static void without_a_rate_nothing_is_uploaded(void **state)
{
	struct server *server = new_server(200);
	struct sender *sender = new_sender(server, 0);
	struct executable_id id = some_id();
	struct bytes content = BYTES_INIT(KIB);
	int fd = own_program();

	(void)state;
	assert_errno(take(sender, &id, "program", EXTRACT_SYMBOLS, fd, NULL), -EPERM);
	assert_false(is_open_on_own_program(fd));
	assert_ok(bytes_append_text(&content, "content"));
	assert_errno(take(sender, &id, "program", 3, -1, &content), -EPERM);
	assert_null(content.data);
	(void)sender_free(sender);
	assert_int_equal(server->n_requests, 0);
	free_server(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_server_gets_the_extract_of_the_executable),
		cmocka_unit_test(a_file_that_others_can_write_is_marked),
		cmocka_unit_test(a_file_in_memory_is_sent_unchanged),
		in_folder(refusals_are_final_and_malformed_pieces_are_not_sent),
		in_folder(a_refused_file_is_not_sent_again),
		cmocka_unit_test(uploads_beyond_the_queue_are_refused),
		cmocka_unit_test(without_a_rate_nothing_is_uploaded),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
