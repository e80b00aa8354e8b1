/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/router.h"

#include "tests/support/unit.h"

enum row {
	ROW_THINGS,
	ROW_ADD_THING,
	ROW_THING,
	ROW_REMOVE_THING,
	ROW_PART,
	ROW_TREE,
	ROW_ROOT,
	ROW_FILE,
};

static const struct http_route routes[] = {
	[ROW_THINGS] = { .method = HTTP_GET, .pattern = "/things" },
	[ROW_ADD_THING] = { .method = HTTP_POST, .pattern = "/things" },
	[ROW_THING] = { .method = HTTP_GET, .pattern = "/things/*" },
	[ROW_REMOVE_THING] = { .method = HTTP_DELETE, .pattern = "/things/*" },
	[ROW_PART] = { .method = HTTP_GET, .pattern = "/things/*/part" },
	[ROW_TREE] = { .method = HTTP_GET, .pattern = "/trees/*/leaf/**" },
	[ROW_ROOT] = { .method = HTTP_GET, .pattern = "/" },
	[ROW_FILE] = { .method = HTTP_GET, .pattern = "/*" },
};

static void a_path_finds_its_row_and_argument(void **state)
{
	static const struct {
		enum http_method method;
		const char *path;
		enum row row;
		const char *argument;
	} cases[] = {
		{ HTTP_GET, "/things", ROW_THINGS, "" },
		{ HTTP_HEAD, "/things", ROW_THINGS, "" },
		{ HTTP_POST, "/things", ROW_ADD_THING, "" },
		{ HTTP_GET, "/things/7", ROW_THING, "7" },
		{ HTTP_DELETE, "/things/a b", ROW_REMOVE_THING, "a b" },
		{ HTTP_GET, "/things/*", ROW_THING, "*" },
		{ HTTP_GET, "/things/7/part", ROW_PART, "7" },
		{ HTTP_GET, "/trees/oak/leaf/a/b//c", ROW_TREE, "oak" },
		{ HTTP_GET, "/trees/oak/leaf/../../x", ROW_TREE, "oak" },
		{ HTTP_GET, "/trees/oak/leaf/a", ROW_TREE, "oak" },
		{ HTTP_GET, "/", ROW_ROOT, "" },
		{ HTTP_GET, "/app.js", ROW_FILE, "app.js" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char argument[ROUTER_ARGUMENT_SIZE] = "untouched";
		const struct http_route *route = NULL;

		assert_int_equal(router_find(routes, ARRAY_SIZE(routes), cases[i].method,
					     cases[i].path, &route, argument),
				 ROUTER_FOUND);
		assert_int_equal(route - routes, cases[i].row);
		assert_string_equal(argument, cases[i].argument);
	}
}

static void unknown_paths_are_not_found(void **state)
{
	static const char *const paths[] = { "/trees/oak/leaf",
					     "/trees/oak/leaf/",
					     "/trees//leaf/a",
					     "/trees/oak/bark/a",
					     "",
					     "things",
					     "/things/",
					     "/things/7/",
					     "/things/7/parts",
					     "/things//part",
					     "/a/b",
					     "//" };
	char argument[ROUTER_ARGUMENT_SIZE];
	const struct http_route *route;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_int_equal(router_find(routes, ARRAY_SIZE(routes), HTTP_GET, paths[i], &route,
					     argument),
				 ROUTER_NO_SUCH_PATH);
}

static void a_segment_that_is_too_long_is_not_found(void **state)
{
	char path[ROUTER_ARGUMENT_SIZE + 32] = "/things/", argument[ROUTER_ARGUMENT_SIZE];
	const struct http_route *route;

	(void)state;
	memset(path + 8, 'x', ROUTER_ARGUMENT_SIZE);
	assert_int_equal(router_find(routes, ARRAY_SIZE(routes), HTTP_GET, path, &route, argument),
			 ROUTER_NO_SUCH_PATH);
	path[8 + ROUTER_ARGUMENT_SIZE - 1] = '\0';
	assert_int_equal(router_find(routes, ARRAY_SIZE(routes), HTTP_GET, path, &route, argument),
			 ROUTER_FOUND);
	assert_int_equal(strlen(argument), ROUTER_ARGUMENT_SIZE - 1);
}

static void a_wrong_method_differs_from_an_unknown_path(void **state)
{
	static const struct {
		enum http_method method;
		const char *path;
		const char *allow;
	} cases[] = {
		{ HTTP_PUT, "/things", "GET, HEAD, POST" },
		{ HTTP_POST, "/things/7", "GET, HEAD, DELETE" },
		{ HTTP_OTHER, "/things/7/part", "GET, HEAD" },
		{ HTTP_DELETE, "/", "GET, HEAD" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char argument[ROUTER_ARGUMENT_SIZE], allow[ROUTER_ALLOW_SIZE];
		const struct http_route *route = NULL;

		assert_int_equal(router_find(routes, ARRAY_SIZE(routes), cases[i].method,
					     cases[i].path, &route, argument),
				 ROUTER_WRONG_METHOD);
		assert_non_null(route);
		router_allow(routes, ARRAY_SIZE(routes), cases[i].path, allow);
		assert_string_equal(allow, cases[i].allow);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_finds_its_row_and_argument),
		cmocka_unit_test(unknown_paths_are_not_found),
		cmocka_unit_test(a_segment_that_is_too_long_is_not_found),
		cmocka_unit_test(a_wrong_method_differs_from_an_unknown_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
