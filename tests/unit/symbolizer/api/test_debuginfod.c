/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tests the debuginfod protocol with this test program and a source file of it.
 */

#include <elf.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/elf/build_id.h"
#include "common/file.h"
#include "common/zstd_frame.h"
#include "tests/unit/symbolizer/api/api_fixture.h"

#define MAX_PROGRAM_BYTES (256 * MIB)

#define SOURCE_PATH "/build/app/src/main.c"
#define SOURCE_REST "source/build/app/src/main.c"
#define SOURCE_TEXT "int main(void) { return 0; }\n"

struct stored {
	struct executable_id id;
	char id_text[EXECUTABLE_ID_TEXT_SIZE];
	struct bytes elf;
	struct elf_file *headers;
	int fd;
};

static void stored_release(struct stored *stored)
{
	bytes_release(&stored->elf);
	(void)elf_file_free(stored->headers);
	scoped_close(&stored->fd);
}

static void put_bytes(struct debuginfo_store *store, const struct stored *stored,
		      struct bytes_view content, const char *source_path)
{
	scoped(debuginfo_upload_freep) struct debuginfo_upload *upload = NULL;
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_entry entry;

	assert_ok(debuginfo_upload_begin(store, &stored->id, DEBUGINFO_FROM_PIPELINE, &upload,
					 message));
	if (source_path)
		assert_ok(debuginfo_upload_as_source(upload, source_path, message));
	assert_ok(debuginfo_upload_append(upload, content, message));
	assert_int_equal(debuginfo_upload_commit(upload, &entry, message), 1);
}

static void store_this_program(struct api_fixture *fixture, struct stored *stored)
{
	*stored = (struct stored){ .elf = BYTES_INIT(MAX_PROGRAM_BYTES) };
	assert_ok(file_read("/proc/self/exe", &stored->elf));
	stored->fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(stored->fd >= 0);
	assert_ok(elf_file_open(stored->fd, &stored->headers));
	assert_int_equal(build_id_from_elf(stored->headers, &stored->id), 1);
	executable_id_format(&stored->id, stored->id_text);
	put_bytes(fixture->context.debuginfo, stored, bytes_view_of(&stored->elf), NULL);
	put_bytes(fixture->context.debuginfo, stored,
		  (struct bytes_view){ (const uint8_t *)SOURCE_TEXT, strlen(SOURCE_TEXT) },
		  SOURCE_PATH);
}

/* A request for /buildid/ID/REST with up to 3 headers. */
struct file_request {
	enum http_method method;
	const char *rest;
	struct http_field headers[3];
};

static void ask(struct api_fixture *fixture, const struct stored *stored,
		const struct file_request *question, struct http_response *response)
{
	static const struct {
		const char *prefix;
		api_handler handler;
	} handlers[] = {
		{ "debuginfo", api_debuginfod },
		{ "executable", api_debuginfod_executable },
		{ "source/", api_debuginfod_source },
		{ "section/", api_debuginfod_section },
	};
	scoped_free char *path = NULL;
	struct http_request request = {
		.method = question->method,
		.argument = stored->id_text,
		.headers = question->headers,
		.caller = &fixture->caller,
	};

	assert_true(asprintf(&path, "/buildid/%s/%s", stored->id_text, question->rest) > 0);
	request.path = path;
	while (request.n_headers < ARRAY_SIZE(question->headers) &&
	       question->headers[request.n_headers].name)
		request.n_headers++;
	http_response_init(response);
	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++)
		if (strncmp(question->rest, handlers[i].prefix, strlen(handlers[i].prefix)) == 0)
			handlers[i].handler(&fixture->context, &request, response);
}

static void assert_header(const struct http_response *response, const char *name, const char *value)
{
	const char *found = http_response_find_header(response, name);

	assert_non_null(found);
	assert_string_equal(found, value);
}

static void assert_sends(const struct http_response *response, const void *wanted, size_t size)
{
	scoped_free uint8_t *sent = malloc(size + 1);

	assert_non_null(sent);
	assert_int_equal(response->file_bytes, size);
	assert_ok(pread_all(response->file, sent, size, response->file_offset));
	assert_memory_equal(sent, wanted, size);
}

static void a_range_is_a_range_of_the_expanded_file(void **state)
{
	static const struct file_request whole = { .rest = "executable" };
	static const struct file_request part = { .rest = "executable",
						  .headers = { { "Range", "bytes=600000-600009" },
							       { "Accept-Encoding", "zstd" } } };
	static const struct file_request beyond = {
		.rest = "debuginfo", .headers = { { "Range", "bytes=99999999999-" } }
	};
	struct api_fixture *fixture = *state;
	scoped(stored_release) struct stored stored;
	scoped(http_response_release) struct http_response all, some, none;
	char wanted[64];

	store_this_program(fixture, &stored);
	assert_true(stored.elf.size > 600010);
	ask(fixture, &stored, &whole, &all);
	assert_int_equal(all.status, 200);
	assert_sends(&all, stored.elf.data, stored.elf.size);
	assert_header(&all, "Accept-Ranges", "bytes");
	assert_header(&all, "Last-Modified", "Tue, 14 Nov 2023 22:14:20 GMT");

	ask(fixture, &stored, &part, &some);
	assert_int_equal(some.status, 206);
	assert_sends(&some, stored.elf.data + 600000, 10);
	(void)snprintf(wanted, sizeof(wanted), "bytes 600000-600009/%zu", stored.elf.size);
	assert_header(&some, "Content-Range", wanted);
	assert_null(http_response_find_header(&some, "Content-Encoding"));
	assert_string_equal(http_response_find_header(&some, "ETag"),
			    http_response_find_header(&all, "ETag"));

	ask(fixture, &stored, &beyond, &none);
	assert_error(&none, 416, "bytes");
	(void)snprintf(wanted, sizeof(wanted), "bytes */%zu", stored.elf.size);
	assert_header(&none, "Content-Range", wanted);
	assert_int_equal(none.file, -1);
}

static void a_client_with_zstd_gets_the_stored_frames(void **state)
{
	static const struct file_request plain = { .rest = "debuginfo" };
	static const struct file_request zstd = {
		.rest = "debuginfo", .headers = { { "Accept-Encoding", "deflate, gzip, br, zstd" } }
	};
	static const struct file_request head = { .method = HTTP_HEAD,
						  .rest = "debuginfo",
						  .headers = { { "Accept-Encoding", "zstd" } } };
	struct api_fixture *fixture = *state;
	scoped(bytes_release) struct bytes expanded = BYTES_INIT(MAX_PROGRAM_BYTES);
	scoped(http_response_release) struct http_response as_is, compressed, length;
	scoped(stored_release) struct stored stored;
	scoped_free uint8_t *frames = NULL;
	char size[32];

	store_this_program(fixture, &stored);
	ask(fixture, &stored, &plain, &as_is);
	ask(fixture, &stored, &zstd, &compressed);
	ask(fixture, &stored, &head, &length);
	assert_header(&compressed, "Content-Encoding", "zstd");
	assert_header(&compressed, "Vary", "Accept-Encoding");
	assert_true(compressed.file_bytes < stored.elf.size);
	frames = malloc(compressed.file_bytes);
	assert_ok(pread_all(compressed.file, frames, compressed.file_bytes, 0));
	assert_ok(zstd_decompress((struct bytes_view){ frames, compressed.file_bytes }, &expanded));
	assert_int_equal(expanded.size, stored.elf.size);
	assert_memory_equal(expanded.data, stored.elf.data, stored.elf.size);
	/* The size is that of the expanded file. */
	(void)snprintf(size, sizeof(size), "%zu", stored.elf.size);
	assert_header(&compressed, "X-DEBUGINFOD-SIZE", size);
	assert_string_not_equal(http_response_find_header(&compressed, "ETag"),
				http_response_find_header(&as_is, "ETag"));
	assert_int_equal(length.head_bytes, compressed.file_bytes);
}

static void an_unchanged_file_is_304(void **state)
{
	static const char *const rests[] = { "debuginfo", "executable", SOURCE_REST,
					     "section/.text" };
	struct api_fixture *fixture = *state;
	scoped(stored_release) struct stored stored;

	store_this_program(fixture, &stored);
	for (size_t i = 0; i < ARRAY_SIZE(rests); i++) {
		scoped(http_response_release) struct http_response first, again, later;
		struct file_request question = { .rest = rests[i] };

		ask(fixture, &stored, &question, &first);
		assert_int_equal(first.status, 200);
		question.headers[0] =
			(struct http_field){ "If-None-Match",
					     http_response_find_header(&first, "ETag") };
		ask(fixture, &stored, &question, &again);
		assert_int_equal(again.status, 304);
		assert_int_equal(again.file, -1);
		assert_int_equal(again.body.size, 0);
		question.headers[0] =
			(struct http_field){ "If-Modified-Since",
					     http_response_find_header(&first, "Last-Modified") };
		ask(fixture, &stored, &question, &later);
		assert_int_equal(later.status, 304);
	}
	assert_int_equal(fixture->context.n_downloads, 0);
}

static void a_section_is_sent_raw(void **state)
{
	static const char *const names[] = { ".text", ".dynsym", ".debug_info" };
	struct api_fixture *fixture = *state;
	scoped(stored_release) struct stored stored;

	store_this_program(fixture, &stored);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct elf_section *section = elf_file_section(stored.headers, names[i]);
		scoped(http_response_release) struct http_response response;
		struct file_request question = {};
		char rest[64];

		(void)snprintf(rest, sizeof(rest), "section/%s", names[i]);
		question.rest = rest;
		assert_non_null(section);
		ask(fixture, &stored, &question, &response);
		assert_int_equal(response.status, 200);
		assert_sends(&response, stored.elf.data + section->file_offset, section->size);
	}
}

static void a_source_is_found_by_both_spellings_of_its_path(void **state)
{
	static const char *const rests[] = { SOURCE_REST, "source//build/app/src/main.c",
					     "source/build/app/obj/../src/./main.c" };
	struct api_fixture *fixture = *state;
	scoped(stored_release) struct stored stored;

	store_this_program(fixture, &stored);
	for (size_t i = 0; i < ARRAY_SIZE(rests); i++) {
		const struct file_request question = { .rest = rests[i] };
		scoped(http_response_release) struct http_response response;

		ask(fixture, &stored, &question, &response);
		assert_int_equal(response.status, 200);
		assert_sends(&response, SOURCE_TEXT, strlen(SOURCE_TEXT));
	}
}

static void missing_files_and_invalid_paths_are_404(void **state)
{
	static const char *const rests[] = {
		"source/etc/passwd",
		"source/../../../../etc/passwd",
		"source/build/app/src/main.c/..",
		"source/",
		"source//..",
		"section/.nothing",
		"section/.bss",
		"section/",
		"section/../.text",
		"section/.text/..",
	};
	struct api_fixture *fixture = *state;
	scoped(stored_release) struct stored stored;

	store_this_program(fixture, &stored);
	for (size_t i = 0; i < ARRAY_SIZE(rests); i++) {
		const struct file_request question = { .rest = rests[i] };
		scoped(http_response_release) struct http_response response;

		ask(fixture, &stored, &question, &response);
		assert_error(&response, 404, "there is no such");
	}
	assert_int_equal(fixture->context.metrics[API_METRIC_DEBUGINFOD_MISSING],
			 ARRAY_SIZE(rests));
	assert_int_equal(fixture->context.n_downloads, 0);
}

/* Returns a socket that accepts connections and never answers. */
static int silent_server(char ret_url[64])
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(fd >= 0);
	assert_ok(bind(fd, (struct sockaddr *)&address, sizeof(address)));
	assert_ok(listen(fd, 16));
	assert_ok(getsockname(fd, (struct sockaddr *)&address, &size));
	(void)snprintf(ret_url, 64, "http://127.0.0.1:%u", ntohs(address.sin_port));
	return fd;
}

/* A client would remember a 404 and not ask again. */
static void what_is_still_being_fetched_is_503_and_not_404(void **state)
{
	static const char *const rests[] = { "debuginfo", "executable", "section/.text" };
	struct api_fixture *fixture = *state;
	struct stored absent = { .fd = -1, .id_text = "00112233445566778899aabbccddeeff00112233" };
	char url[64], message[DEBUGINFO_MESSAGE_SIZE];
	scoped_fd int server = silent_server(url);
	const struct debuginfo_upstream_options options = {
		.urls = url,
		.timeout_ns = 3600 * NSEC_PER_SEC,
		.max_bytes = MIB,
	};

	assert_true(server >= 0);
	assert_ok(debuginfo_upstream_new(fixture->context.debuginfo, &options,
					 &fixture->context.upstream, message));
	fixture->context.upstream_wait_ns = NSEC_PER_SEC;
	fixture->context.max_upstream_waits = 0;
	for (size_t i = 0; i < ARRAY_SIZE(rests); i++) {
		scoped(http_response_release) struct http_response response;

		ask(fixture, &absent, &(struct file_request){ .rest = rests[i] }, &response);
		assert_int_equal(response.status, 503);
		assert_header(&response, "Retry-After", "2");
	}
	debuginfo_upstream_stop(fixture->context.upstream);
	fixture->context.upstream = debuginfo_upstream_free(fixture->context.upstream);
}

static void a_file_above_the_limit_of_the_client_is_406(void **state)
{
	static const struct file_request small = {
		.rest = "debuginfo", .headers = { { "X-DEBUGINFOD-MAXSIZE", "1000" } }
	};
	static const struct file_request large = {
		.rest = "debuginfo", .headers = { { "X-DEBUGINFOD-MAXSIZE", "1000000000" } }
	};
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response refused, sent;
	scoped(stored_release) struct stored stored;

	store_this_program(fixture, &stored);
	ask(fixture, &stored, &small, &refused);
	assert_error(&refused, 406, "more than 1000");
	ask(fixture, &stored, &large, &sent);
	assert_int_equal(sent.status, 200);
}

static void with_tokens_shared_caches_may_not_keep_answers(void **state)
{
	static const struct file_request question = { .rest = "debuginfo" };
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response open, guarded;
	scoped(stored_release) struct stored stored;

	store_this_program(fixture, &stored);
	ask(fixture, &stored, &question, &open);
	assert_header(&open, "Cache-Control", "public");
	fixture->caller.anonymous = false;
	ask(fixture, &stored, &question, &guarded);
	assert_header(&guarded, "Cache-Control", "private");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(a_range_is_a_range_of_the_expanded_file),
		API_TEST(a_client_with_zstd_gets_the_stored_frames),
		API_TEST(an_unchanged_file_is_304),
		API_TEST(a_section_is_sent_raw),
		API_TEST(a_source_is_found_by_both_spellings_of_its_path),
		API_TEST(missing_files_and_invalid_paths_are_404),
		API_TEST(what_is_still_being_fetched_is_503_and_not_404),
		API_TEST(a_file_above_the_limit_of_the_client_is_406),
		API_TEST(with_tokens_shared_caches_may_not_keep_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
