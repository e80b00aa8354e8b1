/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/ui/assets.h"
#include "tests/unit/symbolizer/api/api_fixture.h"

static void get(struct api_fixture *fixture, const char *path, const char *header,
		const char *value, struct http_response *response)
{
	const struct http_field headers[] = { { header, value } };
	const struct http_request request = {
		.path = path,
		.argument = path + 1,
		.headers = headers,
		.n_headers = header ? 1 : 0,
		.caller = &fixture->caller,
	};

	http_response_init(response);
	if (strcmp(path, "/") == 0)
		api_page(&fixture->context, &request, response);
	else
		api_asset(&fixture->context, &request, response);
}

static void the_page_is_sent_plain_or_compressed(void **state)
{
	const struct ui_asset *asset = ui_asset_find("/");
	scoped(http_response_release) struct http_response plain, packed;

	assert_non_null(asset);
	get(*state, "/", NULL, NULL, &plain);
	assert_int_equal(plain.status, 200);
	assert_ptr_equal(plain.fixed_body.data, asset->plain);
	assert_int_equal(plain.fixed_body.size, asset->plain_size);
	assert_null(plain.fixed_encoding);
	assert_int_equal(strncmp(plain.content_type, "text/html", 9), 0);
	assert_string_equal(http_response_find_header(&plain, "ETag"), asset->etag);
	assert_string_equal(http_response_find_header(&plain, "Cache-Control"), "no-cache");

	get(*state, "/", "Accept-Encoding", "gzip, br", &packed);
	assert_ptr_equal(packed.fixed_body.data, asset->gzip);
	assert_string_equal(packed.fixed_encoding, "gzip");
	assert_string_equal(http_response_find_header(&packed, "Vary"), "Accept-Encoding");
}

static void an_unchanged_file_is_304(void **state)
{
	const struct ui_asset *asset = ui_asset_find("/app.js");
	scoped(http_response_release) struct http_response same, other;

	assert_non_null(asset);
	get(*state, "/app.js", "If-None-Match", asset->etag, &same);
	assert_int_equal(same.status, 304);
	assert_null(same.fixed_body.data);
	assert_string_equal(http_response_find_header(&same, "ETag"), asset->etag);
	get(*state, "/app.js", "If-None-Match", "\"older\"", &other);
	assert_int_equal(other.status, 200);
}

static void other_files_are_not_found(void **state)
{
	scoped(http_response_release) struct http_response response;

	get(*state, "/passwd", NULL, NULL, &response);
	assert_error(&response, 404, "'/passwd'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(the_page_is_sent_plain_or_compressed),
		API_TEST(an_unchanged_file_is_304),
		API_TEST(other_files_are_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
