/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/file_paths.h"

#include "tests/support/fake_store.h"
#include "tests/support/store_view.h"

static const struct fake_path known[] = {
	{ 11, 1, "/usr/bin/app" },
	{ 11, 2, "/lib/libx.so" },
	{ 12, 2, "/lib64/libx.so" },
};

static const struct store_process processes[] = {
	{ .id = 11, .path_set = 7 },
	{ .id = 12 },
	{ .id = 13, .path_set = 7 }, /* maps what process 11 maps */
	{ .id = 14 },
};

static const struct {
	unsigned int process; /* index of @processes */
	uint32_t executable;
	const char *path; /* NULL: unknown */
} cases[] = {
	{ 0, 1, "/usr/bin/app" }, { 0, 2, "/lib/libx.so" }, { 1, 2, "/lib64/libx.so" },
	{ 2, 1, "/usr/bin/app" }, { 2, 2, "/lib/libx.so" }, { 1, 1, NULL },
	{ 3, 2, NULL },           { 0, 9, NULL },
};

static struct store *init_store(struct fake_store *fake)
{
	*fake = (struct fake_store){ .paths = known, .n_paths = ARRAY_SIZE(known) };
	return fake_store_init(fake);
}

static void processes_with_equal_paths_are_read_once_and_all_together(void **state)
{
	struct fake_store fake;
	scoped(store_view_closep) struct store_view *view = open_view(init_store(&fake), "default");
	scoped(file_paths_release) struct file_paths paths = {};
	scoped(arena_freep) struct arena *arena = NULL;

	(void)state;
	assert_ok(arena_new(MIB, &arena));
	assert_ok(file_paths_init(&paths));
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
			assert_ok(file_paths_want(&paths, &processes[cases[i].process],
						  cases[i].executable));
	assert_ok(file_paths_read(&paths, view, arena));
	/* Process 13 adds none. */
	assert_int_equal(fake.n_paths_read, 6);
	assert_int_equal(fake.n_path_calls, 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *path =
			file_paths_find(&paths, &processes[cases[i].process], cases[i].executable);

		if (cases[i].path)
			assert_string_equal(path, cases[i].path);
		else
			assert_null(path);
	}
}

static void nothing_wanted_is_no_call(void **state)
{
	struct fake_store fake;
	scoped(store_view_closep) struct store_view *view = open_view(init_store(&fake), "default");
	scoped(file_paths_release) struct file_paths paths = {};
	scoped(arena_freep) struct arena *arena = NULL;

	(void)state;
	assert_ok(arena_new(MIB, &arena));
	assert_ok(file_paths_init(&paths));
	assert_ok(file_paths_read(&paths, view, arena));
	assert_int_equal(fake.n_path_calls, 0);
}

static void a_canceled_request_reads_no_paths(void **state)
{
	struct fake_store fake;
	struct cancel cancel = {};
	const struct store_view_options options = { .tenant = "default", .cancel = &cancel };
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(file_paths_release) struct file_paths paths = {};
	scoped(arena_freep) struct arena *arena = NULL;

	(void)state;
	assert_ok(store_view_open(init_store(&fake), &options, &view));
	assert_ok(arena_new(MIB, &arena));
	assert_ok(file_paths_init(&paths));
	assert_ok(file_paths_want(&paths, &processes[0], 1));
	cancel_request(&cancel);
	assert_errno(file_paths_read(&paths, view, arena), -ECANCELED);
	assert_int_equal(fake.n_path_calls, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_with_equal_paths_are_read_once_and_all_together),
		cmocka_unit_test(nothing_wanted_is_no_call),
		cmocka_unit_test(a_canceled_request_reads_no_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
