/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include "symbolizer/cli/upload/upload_pool.h"
#include "tests/support/unit.h"

static void make_folder(const char *folder, const char *name)
{
	scoped_free char *path = path_in(folder, name);

	assert_ok(mkdir(path, 0700));
}

static void make_link(const char *folder, const char *name, const char *target)
{
	scoped_free char *path = path_in(folder, name);

	assert_ok(symlink(target, path));
}

/* a/one, a/sub/two, a third name of one, links to a file and to a folder, and an empty folder. */
static void make_tree(const char *folder)
{
	scoped_free char *one = NULL, *two = NULL, *again = path_in(folder, "a/again");

	make_folder(folder, "a");
	make_folder(folder, "a/sub");
	make_folder(folder, "a/empty");
	one = write_file_in(folder, "a/one", "1", 1);
	two = write_file_in(folder, "a/sub/two", "2", 1);
	assert_ok(link(one, again));
	make_link(folder, "a/link", "one");
	make_link(folder, "a/sub/up", "..");
	make_link(folder, "b", "a");
}

static void each_file_of_a_folder_is_added_once_and_no_link(void **state)
{
	static const char *const roots[] = { "a", "b" };

	make_tree(*state);
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		scoped(upload_list_release) struct upload_list list = {};
		scoped_free char *root = path_in(*state, roots[i]);
		size_t n_two = 0;

		assert_ok(upload_list_add(&list, root, true));
		assert_int_equal(list.count, 2);
		for (size_t j = 0; j < list.count; j++) {
			assert_false(list.items[j].is_named);
			n_two += strstr(list.items[j].path, "/sub/two") != NULL;
		}
		assert_int_equal(n_two, 1);
	}
}

static void a_file_that_the_user_named_is_marked(void **state)
{
	scoped(upload_list_release) struct upload_list list = {};
	scoped_free char *one = write_file_in(*state, "one", "1", 1);

	assert_ok(upload_list_add(&list, one, true));
	assert_ok(upload_list_add(&list, one, false));
	/* Without --recursive, the list does not check whether the file exists. */
	assert_ok(upload_list_add(&list, "/nowhere", false));
	assert_int_equal(list.count, 3);
	for (size_t i = 0; i < list.count; i++)
		assert_true(list.items[i].is_named);
}

static void a_missing_folder_is_an_error(void **state)
{
	scoped(upload_list_release) struct upload_list list = {};
	scoped_free char *path = path_in(*state, "nothing");

	assert_errno(upload_list_add(&list, path, true), -ENOENT);
	assert_int_equal(list.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(each_file_of_a_folder_is_added_once_and_no_link),
		in_folder(a_file_that_the_user_named_is_marked),
		in_folder(a_missing_folder_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
