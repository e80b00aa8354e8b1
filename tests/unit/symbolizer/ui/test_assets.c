/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The files of the page in the form in which the server sends them.
 */

#include "symbolizer/ui/assets.h"

#include <zlib.h>

#include "tests/support/unit.h"

static const char *const paths[] = {
#define UI_ASSET(id, file, content_type) "/" file,
#include "symbolizer/ui/assets.def"
#undef UI_ASSET
};

static void the_page_is_found_by_both_of_its_paths(void **state)
{
	(void)state;
	assert_non_null(ui_asset_find("/"));
	assert_ptr_equal(ui_asset_find("/"), ui_asset_find("/index.html"));
}

static void other_paths_are_not_found(void **state)
{
	static const char *const strangers[] = { "",           "/index", "index.html", "/app.js/",
						 "/../app.js", "/v1/",   "/assets.def" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(strangers); i++)
		assert_null(ui_asset_find(strangers[i]));
}

static void the_compressed_form_expands_to_the_plain_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const struct ui_asset *asset = ui_asset_find(paths[i]);
		scoped_free uint8_t *plain = NULL;
		z_stream stream = {};

		assert_non_null(asset);
		assert_true(asset->plain_size > 0);
		plain = malloc(asset->plain_size + 1);
		assert_non_null(plain);
		stream.next_in = (Bytef *)asset->gzip;
		stream.avail_in = (uInt)asset->gzip_size;
		stream.next_out = plain;
		stream.avail_out = (uInt)asset->plain_size + 1;
		assert_int_equal(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
		assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
		assert_int_equal(stream.total_out, asset->plain_size);
		assert_int_equal(stream.avail_in, 0);
		assert_memory_equal(plain, asset->plain, asset->plain_size);
		assert_int_equal(inflateEnd(&stream), Z_OK);
	}
}

static void etags_are_quoted_and_differ(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const char *etag = ui_asset_find(paths[i])->etag;

		assert_int_equal(strlen(etag), 18);
		assert_int_equal(etag[0], '"');
		assert_int_equal(etag[17], '"');
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(etag, ui_asset_find(paths[j])->etag);
	}
}

/* True if @text contains @wanted. */
static bool contains(const struct ui_asset *asset, const char *wanted)
{
	return memmem(asset->plain, asset->plain_size, wanted, strlen(wanted)) != NULL;
}

static void the_page_preloads_every_module(void **state)
{
	const struct ui_asset *page = ui_asset_find("/");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char quoted[64];

		if (strcmp(paths[i], "/index.html") == 0)
			continue;
		(void)snprintf(quoted, sizeof(quoted), "\"%s\"", paths[i] + 1);
		if (!contains(page, quoted))
			fail_msg("index.html does not name %s", quoted);
	}
}

static void the_page_allows_nothing_inline_and_nothing_from_elsewhere(void **state)
{
	static const char *const forbidden[] = { "<style",  "style=",   " onclick", "javascript:",
						 "http://", "https://", "unsafe-" };
	const struct ui_asset *page = ui_asset_find("/");

	(void)state;
	assert_true(contains(page, "Content-Security-Policy"));
	assert_true(contains(page, "default-src 'none'"));
	for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++) {
		if (contains(page, forbidden[i]))
			fail_msg("index.html holds '%s'", forbidden[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_page_is_found_by_both_of_its_paths),
		cmocka_unit_test(other_paths_are_not_found),
		cmocka_unit_test(the_compressed_form_expands_to_the_plain_form),
		cmocka_unit_test(etags_are_quoted_and_differ),
		cmocka_unit_test(the_page_preloads_every_module),
		cmocka_unit_test(the_page_allows_nothing_inline_and_nothing_from_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
