/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Checks that the documents in the repository that are generated from tables are current.
 */

#include "common/file.h"
#include "symbolizer/api/api.h"
#include "symbolizer/config.h"
#include "tests/support/unit.h"

#define MAX_DOCUMENT_BYTES MIB

static void read_document(const char *name, struct bytes *text)
{
	scoped_free char *path = path_in(SOURCE_FOLDER, name);
	int r;

	*text = BYTES_INIT(MAX_DOCUMENT_BYTES);
	r = file_read(path, text);
	if (r < 0)
		fail_msg("%s: %s", path, strerror(-r));
	assert_ok(bytes_append_byte(text, '\0'));
}

static void the_default_configuration_is_current(void **state)
{
	scoped(bytes_release) struct bytes file, printed = BYTES_INIT(MAX_DOCUMENT_BYTES);

	(void)state;
	read_document("deploy/config/symbolizer.yaml", &file);
	assert_ok(config_print_default_file(&symbolizer_config_table, SYMBOLIZER_CONFIG_TITLE,
					    &printed));
	assert_bytes_equal_text(&printed, (const char *)file.data);
}

static void the_default_configuration_can_be_loaded(void **state)
{
	scoped(symbolizer_config_release) struct symbolizer_config config = {};
	char message[CONFIG_MESSAGE_SIZE];

	(void)state;
	assert_ok(config_set_defaults(&symbolizer_config_table, &config));
	if (config_load_file(&symbolizer_config_table,
			     SOURCE_FOLDER "/deploy/config/symbolizer.yaml", &config, message) < 0)
		fail_msg("%s", message);
	assert_ok(symbolizer_config_check(&config, message));
}

static void the_table_of_keys_is_current(void **state)
{
	scoped(bytes_release) struct bytes file, printed = BYTES_INIT(MAX_DOCUMENT_BYTES);

	(void)state;
	read_document("docs/configuration-symbolizer.md", &file);
	assert_ok(
		config_print_markdown(&symbolizer_config_table, SYMBOLIZER_CONFIG_TITLE, &printed));
	assert_bytes_equal_text(&printed, (const char *)file.data);
}

/* Returns the name of the last part, "**", of a pattern. */
static const char *rest_of(const char *pattern)
{
	if (strstr(pattern, "/source/"))
		return "PATH";
	return strstr(pattern, "/section/") ? "NAME" : "UPLOAD";
}

/* Writes a pattern with a name instead of its stars. */
static void describe(const struct http_route *route, char *ret_text, size_t size)
{
	const char *star = strchr(route->pattern, '*');
	int before = star ? (int)(star - route->pattern) : (int)strlen(route->pattern);
	const char *argument = !star                               ? ""
			       : before == 1                       ? "FILE"
			       : strstr(route->pattern, "querier") ? "NAME"
								   : "BUILDID";
	const char *rest = star ? strstr(star + 1, "**") : NULL;
	int between = rest ? (int)(rest - star) - 1 : star ? (int)strlen(star + 1) : 0;

	(void)snprintf(ret_text, size, "`%s %.*s%s%.*s%s`", http_method_name(route->method), before,
		       route->pattern, argument, between, star ? star + 1 : "",
		       rest ? rest_of(route->pattern) : "");
}

static void every_route_is_in_the_document_of_the_api(void **state)
{
	scoped(bytes_release) struct bytes file;
	const struct http_route *routes;
	size_t count;

	(void)state;
	read_document("docs/http-api.md", &file);
	routes = api_routes(&count);
	assert_true(count > 10);
	for (size_t i = 0; i < count; i++) {
		char text[128];

		describe(&routes[i], text, sizeof(text));
		if (!strstr((const char *)file.data, text))
			fail_msg("docs/http-api.md does not have %s", text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_configuration_is_current),
		cmocka_unit_test(the_default_configuration_can_be_loaded),
		cmocka_unit_test(the_table_of_keys_is_current),
		cmocka_unit_test(every_route_is_in_the_document_of_the_api),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
