/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/gzip.h"

#include <zlib.h>

#include "tests/support/unit.h"

#define LARGE_BYTES 100000

static const struct http_field accepts_gzip = { "Accept-Encoding", "gzip" };
static const struct http_request gzip_request = { .headers = &accepts_gzip, .n_headers = 1 };

static void fill(struct http_response *response, size_t size)
{
	http_response_init(response);
	for (size_t i = 0; i < size; i++)
		bytes_append_byte(&response->body,
				  (uint8_t)("{\"name\": 1234}"[i % 14] + i / 5000));
}

static void a_large_text_is_compressed_without_loss(void **state)
{
	scoped(http_response_release) struct http_response plain, compressed;
	static uint8_t expanded[LARGE_BYTES];
	z_stream stream = {};

	(void)state;
	fill(&plain, LARGE_BYTES);
	fill(&compressed, LARGE_BYTES);
	gzip_response(&gzip_request, &compressed);
	assert_string_equal(http_response_find_header(&compressed, "Content-Encoding"), "gzip");
	assert_string_equal(http_response_find_header(&compressed, "Vary"), "Accept-Encoding");
	assert_true(compressed.body.size < LARGE_BYTES / 5);

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	stream.next_in = compressed.body.data;
	stream.avail_in = (uInt)compressed.body.size;
	stream.next_out = expanded;
	stream.avail_out = sizeof(expanded);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.total_out, LARGE_BYTES);
	(void)inflateEnd(&stream);
	assert_memory_equal(expanded, plain.body.data, LARGE_BYTES);
}

static void a_client_without_gzip_gets_the_text_and_a_vary_header(void **state)
{
	scoped(http_response_release) struct http_response response;

	(void)state;
	fill(&response, LARGE_BYTES);
	gzip_response(&(struct http_request){}, &response);
	assert_int_equal(response.body.size, LARGE_BYTES);
	assert_null(http_response_find_header(&response, "Content-Encoding"));
	assert_string_equal(http_response_find_header(&response, "Vary"), "Accept-Encoding");
}

static void small_binary_and_fixed_bodies_are_not_compressed(void **state)
{
	scoped(http_response_release) struct http_response small, binary, fixed;

	(void)state;
	fill(&small, GZIP_MIN_BYTES - 1);
	gzip_response(&gzip_request, &small);
	assert_int_equal(small.body.size, GZIP_MIN_BYTES - 1);
	assert_null(http_response_find_header(&small, "Content-Encoding"));

	fill(&binary, LARGE_BYTES);
	binary.content_type = "application/x-protobuf";
	gzip_response(&gzip_request, &binary);
	assert_int_equal(binary.body.size, LARGE_BYTES);

	fill(&fixed, LARGE_BYTES);
	fixed.fixed_body = bytes_view_of(&binary.body);
	gzip_response(&gzip_request, &fixed);
	assert_null(http_response_find_header(&fixed, "Content-Encoding"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_large_text_is_compressed_without_loss),
		cmocka_unit_test(a_client_without_gzip_gets_the_text_and_a_vary_header),
		cmocka_unit_test(small_binary_and_fixed_bodies_are_not_compressed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
