/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/executable_cache_private.h"

#include "agent/executable/kernel_layout.h"
#include "tests/support/unit.h"

#define CACHE_ITEMS 8

static struct executable_cache *new_cache(size_t max_items)
{
	struct executable_cache *cache = NULL;

	assert_ok(executable_cache_new(max_items, &cache));
	return cache;
}

static struct file_key key_of(uint64_t inode)
{
	return (struct file_key){ .device = 1, .inode = inode };
}

/* Looks up more files than the cache keeps. All are the same executable. */
static void files_looked_up_longest_ago_are_evicted_first(void **state)
{
	struct executable_cache *cache = new_cache(CACHE_ITEMS);
	const struct executable_id id = { .kind = EXECUTABLE_ID_GNU, .size = 20, .bytes = { 7 } };
	struct file_identity identity = { .id = id };
	struct executable *executable;
	uint64_t n_found = 0;
	bool is_trusted;

	(void)state;
	assert_ok(
		executable_cache_add(cache, &id, EXECUTABLE_USER, "file", &identity, &executable));
	executable_ref(executable);
	for (uint64_t inode = 1; inode <= 1000; inode++) {
		struct file_key first = key_of(1), key = key_of(inode);

		assert_ok(executable_cache_remember_file(cache, &key, 0, true, executable));
		/* A file that is looked up often is kept. */
		assert_ptr_equal(executable_cache_by_file(cache, &first, 0, &is_trusted),
				 executable);
	}
	for (uint64_t inode = 1; inode <= 1000; inode++) {
		struct file_key key = key_of(inode);

		n_found += executable_cache_by_file(cache, &key, 0, &is_trusted) != NULL;
	}
	/* When the index is full, the cache evicts a part of the files, not all. */
	assert_true(n_found >= CACHE_ITEMS * 8 / 2 && n_found <= CACHE_ITEMS * 8);
	assert_int_equal(executable_cache_files_evicted(cache), 1000 - n_found);
	executable_unref(cache, executable);
	executable_cache_free(cache);
}

static struct executable_id made_up_id(uint32_t number)
{
	struct executable_id id;

	assert_ok(executable_id_set(&id, EXECUTABLE_ID_GNU, &number, sizeof(number)));
	return id;
}

static struct executable *identify_made_up(struct executable_cache *cache, uint32_t number)
{
	struct executable_id id = made_up_id(number);
	struct executable *executable = executable_cache_by_id(cache, &id);

	if (executable)
		executable_cache_touch(cache, executable);
	else
		assert_ok(executable_cache_add(cache, &id, EXECUTABLE_USER, "made up", NULL,
					       &executable));
	return executable;
}

static void least_recently_used_executables_are_evicted_and_referenced_ones_kept(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(4);
	struct executable *held = identify_made_up(cache, 100);
	struct executable_id kept = made_up_id(1);

	(void)state;
	executable_ref(held);
	for (uint32_t i = 0; i < 50; i++) {
		(void)identify_made_up(cache, 1);
		(void)identify_made_up(cache, 1000 + i);
		assert_true(executable_cache_count(cache) <= 4);
	}
	assert_ptr_equal(executable_cache_by_number(cache, held->number), held);
	assert_non_null(executable_cache_by_id(cache, &kept));
	executable_unref(cache, held);
	for (uint32_t i = 0; i < 4; i++)
		(void)identify_made_up(cache, 2000 + i);
	assert_null(executable_cache_by_number(cache, 1));
}

static void numbers_are_never_reused(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(2);
	uint32_t last = 0;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		struct executable *executable = identify_made_up(cache, i % 5);

		if (executable->number > last)
			last = executable->number;
		else
			assert_true(executable->number > last - 2);
	}
	assert_true(last > 5);
}

static void the_kernel_is_number_one_and_its_modules_follow(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(1);
	struct kernel_module modules[2] = { { .name = "first" }, { .name = "without_note" } };
	struct kernel_layout layout = { .modules = modules, .n_modules = 2 };
	struct executable *executable;

	(void)state;
	layout.id = made_up_id(1);
	modules[0].id = made_up_id(2);
	assert_ok(executable_cache_add_kernel(cache, &layout));
	assert_ok(executable_cache_add_kernel(cache, &layout));
	assert_int_equal(executable_cache_count(cache), 2);
	for (uint32_t i = 0; i < 5; i++)
		(void)identify_made_up(cache, 100 + i);

	executable = executable_cache_by_number(cache, KERNEL_EXECUTABLE_NUMBER);
	assert_non_null(executable);
	assert_int_equal(executable->role, EXECUTABLE_KERNEL);
	assert_string_equal(executable->name, "[kernel]");
	executable = executable_cache_by_id(cache, &modules[0].id);
	assert_non_null(executable);
	assert_int_equal(executable->role, EXECUTABLE_KERNEL_MODULE);
	assert_string_equal(executable->name, "first");
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_looked_up_longest_ago_are_evicted_first),
		cmocka_unit_test(
			least_recently_used_executables_are_evicted_and_referenced_ones_kept),
		cmocka_unit_test(numbers_are_never_reused),
		cmocka_unit_test(the_kernel_is_number_one_and_its_modules_follow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
