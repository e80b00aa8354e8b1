/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings of this process, from the load of a library to its replacement. */

#include "tests/unit/agent/process/mapped_libraries_fixture.h"

#include "agent/process/process_image.h"

static const char library_a[] = FIXTURES "/a.so", library_b[] = FIXTURES "/b.so";
/* These libraries have no build-ID. */
static const char plain_a[] = FIXTURES "/plain_a.so", plain_b[] = FIXTURES "/plain_b.so";

static void a_library_that_is_loaded_late_is_identified(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = begin(fixture);

	map_file(library_a);
	apply_events(fixture);
	assert_is(fixture, process, CODE, library_a);
}

static void a_library_loaded_at_the_addresses_of_another_is_identified_anew(void **state)
{
	static const char *const libraries[] = { library_a, library_b, plain_a,
						 plain_b,   library_a, plain_b };
	struct fixture *fixture = *state;
	struct process *process = begin(fixture);

	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++) {
		map_file(libraries[i]);
		apply_events(fixture);
		assert_is(fixture, process, CODE, libraries[i]);
		assert_int_equal(munmap(CODE, PAGE), 0);
	}
}

/* A plug-in is built and loaded again: same path, same addresses, no build-ID. */
static void a_new_version_of_a_library_with_the_same_path_is_another_executable(void **state)
{
	static const char *const versions[] = { plain_a, plain_b, library_a, library_b, plain_a };
	struct fixture *fixture = *state;
	struct process *process = begin(fixture);
	scoped_free char *path = path_in(fixture->folder, "plugin.so");

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		copy_file(versions[i], path);
		map_file(path);
		apply_events(fixture);
		assert_is(fixture, process, CODE, versions[i]);
		assert_int_equal(munmap(CODE, PAGE), 0);
	}
}

static void a_scan_of_proc_detects_a_new_version_too(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = begin(fixture);
	scoped_free char *path = path_in(fixture->folder, "plugin.so");

	copy_file(plain_a, path);
	map_file(path);
	apply_events(fixture);
	assert_is(fixture, process, CODE, plain_a);
	copy_file(plain_b, path);
	map_file(path);
	/* The events are lost: they are not applied. */
	process_table_reread_mappings(fixture->table, process);
	assert_is(fixture, process, CODE, plain_b);
	process_table_reread_mappings(fixture->table, process);
	assert_is(fixture, process, CODE, plain_b);
	assert_int_equal(munmap(CODE, PAGE), 0);
	process_table_reread_mappings(fixture->table, process);
	assert_null(process_table_mapping(fixture->table, process, (uint64_t)(uintptr_t)CODE, 1));
}

static void a_mapped_file_that_was_replaced_or_deleted_keeps_its_identity(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = begin(fixture);
	scoped_free char *path = path_in(fixture->folder, "library.so");
	static const struct {
		const char *library;
		bool is_replaced;
	} cases[] = {
		{ library_a, true }, { plain_a, true }, { library_a, false }, { plain_a, false }
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		copy_file(cases[i].library, path);
		map_file(path);
		/* Before the file is identified. */
		if (cases[i].is_replaced)
			copy_file(library_b, path);
		else
			assert_int_equal(unlink(path), 0);
		apply_events(fixture);
		assert_is(fixture, process, CODE, cases[i].library);
		process_table_reread_mappings(fixture->table, process);
		assert_is(fixture, process, CODE, cases[i].library);
		assert_int_equal(munmap(CODE, PAGE), 0);
	}
}

static void code_in_a_memfd_is_identified_by_its_content(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = begin(fixture);
	static const char *const libraries[] = { plain_a, library_b };

	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++) {
		scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
		scoped_fd int fd = memfd_create("code", MFD_CLOEXEC);

		assert_ok(file_read(libraries[i], &content));
		assert_ok(write_all(fd, content.data, content.size));
		map_fd(fd, CODE);
		apply_events(fixture);
		assert_is(fixture, process, CODE, libraries[i]);
		assert_int_equal(munmap(CODE, PAGE), 0);
	}
}

/* mremap() has no event. The maps are read again when no mapping contains a pc. */
static void code_moved_by_mremap_is_found(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = begin(fixture);
	void *elsewhere = (uint8_t *)CODE + 32 * PAGE;

	map_file(library_a);
	apply_events(fixture);
	assert_is(fixture, process, CODE, library_a);
	assert_ptr_equal(mremap(CODE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere),
			 elsewhere);
	/* The maps are read at most once a second: this is a second later. */
	assert_non_null(process_table_mapping(fixture->table, process,
					      (uint64_t)(uintptr_t)elsewhere,
					      process->maps_read_ns + 2 * NSEC_PER_SEC));
	assert_is(fixture, process, elsewhere, library_a);
}

static void anonymous_code_at_the_addresses_of_a_library_has_no_file(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = begin(fixture);
	const struct process_mapping *mapping;

	map_file(library_a);
	apply_events(fixture);
	assert_is(fixture, process, CODE, library_a);
	assert_ptr_equal(mmap(CODE, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 CODE);
	assert_int_equal(mprotect(CODE, PAGE, PROT_READ | PROT_EXEC), 0);
	apply_events(fixture);
	mapping = process_table_mapping(fixture->table, process, (uint64_t)(uintptr_t)CODE, 1);
	assert_true(!mapping || !mapping->executable);
}

/* Maps the code of @path and two more pages, as if the code were larger. */
static void map_large(const char *path, struct fixture *fixture)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	scoped_free char *copy = path_in(fixture->folder, "large.so");
	scoped_fd int fd = -1;

	assert_ok(file_read(path, &content));
	while (content.size < 3 * PAGE)
		assert_ok(bytes_append_byte(&content, (uint8_t)(content.size * 7 / 3)));
	assert_ok(file_replace(copy, content.data, content.size, 0755));
	fd = open(copy, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_ptr_equal(
		mmap(CODE, 3 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0), CODE);
}

static void *page_of_code(size_t number)
{
	return (uint8_t *)CODE + number * PAGE;
}

/* Replaces pages [@first, @first + @count) by memory with the same bytes, as for huge pages. */
static void copy_to_memory(size_t first, size_t count)
{
	const size_t size = count * PAGE;
	void *address = page_of_code(first);
	scoped_free void *bytes = malloc(size);

	assert_non_null(bytes);
	memcpy(bytes, address, size);
	assert_ptr_equal(mmap(address, size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 address);
	memcpy(address, bytes, size);
	assert_int_equal(mprotect(address, size, PROT_READ | PROT_EXEC), 0);
}

/* Does the same in memory elsewhere, and moves it to the addresses of the code: no event. */
static void move_to_memory(size_t first, size_t count)
{
	const size_t size = count * PAGE;
	void *address = page_of_code(first);
	void *elsewhere =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(elsewhere != MAP_FAILED);
	memcpy(elsewhere, address, size);
	assert_int_equal(mprotect(elsewhere, size, PROT_READ | PROT_EXEC), 0);
	assert_ptr_equal(mremap(elsewhere, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, address),
			 address);
}

static void code_copied_to_memory_at_its_addresses_keeps_its_file(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = begin(fixture);

	for (size_t looked_at = 0; looked_at < 2; looked_at++) {
		map_file(library_a);
		apply_events(fixture);
		if (looked_at)
			assert_is(fixture, process, CODE, library_a);
		copy_to_memory(0, 1);
		apply_events(fixture);
		assert_is(fixture, process, CODE, library_a);
		process_table_reread_mappings(fixture->table, process);
		assert_is(fixture, process, CODE, library_a);
		assert_int_equal(munmap(CODE, PAGE), 0);
	}
}

static void code_copied_in_pieces_keeps_its_file(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = begin(fixture);

	map_large(library_a, fixture);
	apply_events(fixture);
	for (size_t i = 0; i < 3; i++)
		copy_to_memory(i, 1);
	apply_events(fixture);
	assert_is(fixture, process, CODE, library_a);
	assert_is(fixture, process, page_of_code(2), library_a);
	assert_int_equal(process_image_search(process, (uint64_t)(uintptr_t)CODE)->end -
				 (uint64_t)(uintptr_t)CODE,
			 3 * PAGE);
}

static void a_copy_of_code_moved_to_its_addresses_keeps_its_file(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = begin(fixture);

	map_large(library_a, fixture);
	apply_events(fixture);
	assert_is(fixture, process, CODE, library_a);
	move_to_memory(0, 3);
	process_table_reread_mappings(fixture->table, process);
	assert_is(fixture, process, page_of_code(1), library_a);
}

/* No event has shown the mapping before; the file is mapped on both sides. */
static void code_copied_before_the_agent_started_has_the_file_mapped_on_both_sides(void **state)
{
	struct fixture *fixture = *state;

	map_large(library_a, fixture);
	copy_to_memory(1, 1);
	assert_is(fixture, process_of(fixture, getpid()), page_of_code(1), library_a);
}

static void other_code_at_the_addresses_of_copied_code_has_no_file(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = begin(fixture);
	const struct process_mapping *mapping;
	uint8_t *last = (uint8_t *)CODE + 3 * PAGE - 1;

	map_large(library_a, fixture);
	apply_events(fixture);
	copy_to_memory(0, 3);
	apply_events(fixture);
	assert_is(fixture, process, CODE, library_a);
	assert_int_equal(mprotect(CODE, 3 * PAGE, PROT_READ | PROT_WRITE), 0);
	*last ^= 1;
	assert_int_equal(mprotect(CODE, 3 * PAGE, PROT_READ | PROT_EXEC), 0);
	apply_events(fixture);
	mapping = process_table_mapping(fixture->table, process, (uint64_t)(uintptr_t)CODE, 1);
	assert_non_null(mapping);
	assert_null(mapping->executable);
	/* The copy was not complete when it was compared, so it is compared again. */
	assert_int_equal(mprotect(CODE, 3 * PAGE, PROT_READ | PROT_WRITE), 0);
	*last ^= 1;
	assert_int_equal(mprotect(CODE, 3 * PAGE, PROT_READ | PROT_EXEC), 0);
	(void)process_table_mapping(fixture->table, process, (uint64_t)(uintptr_t)CODE,
				    10 * NSEC_PER_SEC);
	(void)process_table_mapping(fixture->table, process, (uint64_t)(uintptr_t)CODE,
				    20 * NSEC_PER_SEC);
	assert_is(fixture, process, CODE, library_a);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_library_that_is_loaded_late_is_identified),
		TEST(a_library_loaded_at_the_addresses_of_another_is_identified_anew),
		TEST(a_new_version_of_a_library_with_the_same_path_is_another_executable),
		TEST(a_scan_of_proc_detects_a_new_version_too),
		TEST(a_mapped_file_that_was_replaced_or_deleted_keeps_its_identity),
		TEST(code_in_a_memfd_is_identified_by_its_content),
		TEST(code_moved_by_mremap_is_found),
		TEST(anonymous_code_at_the_addresses_of_a_library_has_no_file),
		TEST(code_copied_to_memory_at_its_addresses_keeps_its_file),
		TEST(code_copied_in_pieces_keeps_its_file),
		TEST(a_copy_of_code_moved_to_its_addresses_keeps_its_file),
		TEST(code_copied_before_the_agent_started_has_the_file_mapped_on_both_sides),
		TEST(other_code_at_the_addresses_of_copied_code_has_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
