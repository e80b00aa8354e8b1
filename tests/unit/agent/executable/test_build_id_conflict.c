/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FIRST_PROGRAM and SECOND_PROGRAM are different programs, linked with the same build-ID. The tests
 * set the mode of a file to decide whether only root can write it.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "agent/executable/executable_file.h"
#include "common/file.h"
#include "tests/support/unit.h"

#define ONLY_ROOT_WRITES 0755
#define ALL_WRITE        0777

struct fixture {
	struct executable_cache *cache;
	char *folder;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	void *folder = NULL;

	assert_non_null(fixture);
	assert_int_equal(temp_folder_setup(&folder), 0);
	fixture->folder = folder;
	assert_ok(executable_cache_new(100, &fixture->cache));
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	void *folder = fixture->folder;

	executable_cache_free(fixture->cache);
	free(fixture);
	return temp_folder_teardown(&folder);
}

/* Copies @from to a file in the folder. */
static char *copy(struct fixture *fixture, const char *name, const char *from, mode_t mode)
{
	struct bytes content = BYTES_INIT(16 * MIB);
	char *path;

	assert_ok(file_read(from, &content));
	path = write_file_in(fixture->folder, name, content.data, content.size);
	assert_int_equal(chmod(path, mode), 0);
	bytes_release(&content);
	return path;
}

static struct executable *identify(struct fixture *fixture, const char *path)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	struct mapped_file file = { .pid = (uint32_t)getpid(),
				    .start = (uintptr_t)memory,
				    .end = (uintptr_t)memory + 4096,
				    .path = path };
	struct executable *executable = NULL;

	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(executable_cache_identify(fixture->cache, &file, &executable), 1);
	assert_int_equal(munmap(memory, 4096), 0);
	return executable;
}

static struct executable *identify_copy(struct fixture *fixture, const char *name, const char *from,
					mode_t mode)
{
	char *path = copy(fixture, name, from, mode);
	struct executable *executable = identify(fixture, path);

	free(path);
	return executable;
}

static void skip_unless_root(void)
{
	if (geteuid() != 0)
		skip();
}

static void different_programs_with_one_build_id_are_two_executables(void **state)
{
	struct fixture *fixture = *state;
	struct executable *first = identify_copy(fixture, "first", FIRST_PROGRAM, ALL_WRITE);
	struct executable *second = identify_copy(fixture, "second", SECOND_PROGRAM, ALL_WRITE);

	assert_int_not_equal(first->number, second->number);
	assert_int_equal(first->id.kind, EXECUTABLE_ID_GNU);
	assert_int_equal(second->id.kind, EXECUTABLE_ID_TEXT);
	assert_int_equal(executable_cache_id_conflicts(fixture->cache), 1);
	assert_ptr_equal(executable_cache_by_id(fixture->cache, &first->id), first);
	assert_ptr_equal(executable_cache_by_id(fixture->cache, &second->id), second);
}

static void a_copy_is_identified_by_its_content_despite_the_build_id(void **state)
{
	struct fixture *fixture = *state;
	struct executable *first = identify_copy(fixture, "first", FIRST_PROGRAM, ALL_WRITE);
	struct executable *second = identify_copy(fixture, "second", SECOND_PROGRAM, ALL_WRITE);

	assert_ptr_equal(identify_copy(fixture, "third", FIRST_PROGRAM, ALL_WRITE), first);
	assert_ptr_equal(identify_copy(fixture, "fourth", SECOND_PROGRAM, ALL_WRITE), second);
	assert_ptr_equal(identify_copy(fixture, "fifth", SECOND_PROGRAM ".stripped", ALL_WRITE),
			 second);
	assert_ptr_equal(identify_copy(fixture, "sixth", FIRST_PROGRAM ".stripped", ALL_WRITE),
			 first);
}

static void the_file_that_only_root_can_write_gets_the_build_id(void **state)
{
	struct fixture *fixture = *state;
	struct executable_id id;
	struct executable *forged, *real;
	char *path;

	skip_unless_root();
	path = copy(fixture, "forged", FIRST_PROGRAM, ALL_WRITE);
	forged = identify(fixture, path);
	id = forged->id;
	real = identify_copy(fixture, "real", SECOND_PROGRAM, ONLY_ROOT_WRITES);
	assert_true(executable_id_equal(&real->id, &id));
	assert_ptr_equal(executable_cache_by_id(fixture->cache, &id), real);
	assert_true(forged->is_superseded);
	assert_int_not_equal(forged->number, real->number);

	/* The same file, mapped by the next process. */
	forged = identify(fixture, path);
	assert_int_equal(forged->id.kind, EXECUTABLE_ID_TEXT);
	assert_false(forged->is_superseded);
	assert_ptr_equal(executable_cache_by_id(fixture->cache, &id), real);
	free(path);
}

static void a_file_that_others_can_write_does_not_take_over_a_build_id(void **state)
{
	struct fixture *fixture = *state;
	struct executable *real, *forged;

	skip_unless_root();
	real = identify_copy(fixture, "real", FIRST_PROGRAM, ONLY_ROOT_WRITES);
	forged = identify_copy(fixture, "forged", SECOND_PROGRAM, ALL_WRITE);
	assert_int_equal(forged->id.kind, EXECUTABLE_ID_TEXT);
	assert_ptr_equal(executable_cache_by_id(fixture->cache, &real->id), real);
	assert_false(real->is_superseded);
}

/* Forgetting a superseded executable must not remove the index entry of its successor. */
static void evicting_a_superseded_executable_keeps_its_successor(void **state)
{
	struct fixture *fixture = *state;
	struct executable *forged, *real;
	uint32_t number;

	skip_unless_root();
	(void)executable_cache_free(fixture->cache);
	assert_ok(executable_cache_new(1, &fixture->cache));
	forged = identify_copy(fixture, "forged", FIRST_PROGRAM, ALL_WRITE);
	number = forged->number;
	executable_ref(forged);
	real = identify_copy(fixture, "real", SECOND_PROGRAM, ONLY_ROOT_WRITES);
	executable_ref(real);
	executable_unref(fixture->cache, forged);
	(void)identify_copy(fixture, "other", "/proc/self/exe", ONLY_ROOT_WRITES);
	assert_null(executable_cache_by_number(fixture->cache, number));
	assert_ptr_equal(executable_cache_by_id(fixture->cache, &real->id), real);
}

/*
 * Symbol tables are not loaded, so they are not compared. Therefore they are taken from the trusted
 * file.
 */
static void uploads_use_the_file_that_only_root_can_write(void **state)
{
	struct fixture *fixture = *state;
	struct executable *executable = identify_copy(fixture, "copy", FIRST_PROGRAM, ALL_WRITE);
	char *path;

	skip_unless_root();
	assert_false(executable->source_is_trusted);
	path = copy(fixture, "real", FIRST_PROGRAM, ONLY_ROOT_WRITES);
	assert_ptr_equal(identify(fixture, path), executable);
	assert_true(executable->source_is_trusted);
	assert_string_equal(executable->source_path, path);
	assert_ptr_equal(identify_copy(fixture, "again", FIRST_PROGRAM, ALL_WRITE), executable);
	assert_string_equal(executable->source_path, path);
	free(path);
}

static void a_file_is_opened_again_only_with_the_same_content(void **state)
{
	struct fixture *fixture = *state;
	char *path = copy(fixture, "program", FIRST_PROGRAM, ALL_WRITE);
	struct executable *executable = identify(fixture, path);
	int fd = executable_open(executable);

	assert_ok(fd);
	(void)close(fd);
	free(path);
	path = copy(fixture, "program", SECOND_PROGRAM, ALL_WRITE);
	assert_errno(executable_open(executable), -ENOENT);
	free(path);
}

#define in_fixture(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_fixture(different_programs_with_one_build_id_are_two_executables),
		in_fixture(a_copy_is_identified_by_its_content_despite_the_build_id),
		in_fixture(the_file_that_only_root_can_write_gets_the_build_id),
		in_fixture(a_file_that_others_can_write_does_not_take_over_a_build_id),
		in_fixture(evicting_a_superseded_executable_keeps_its_successor),
		in_fixture(uploads_use_the_file_that_only_root_can_write),
		in_fixture(a_file_is_opened_again_only_with_the_same_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
