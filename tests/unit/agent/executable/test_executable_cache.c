/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/executable.h"

#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/executable/kernel_layout.h"
#include "common/file.h"
#include "tests/support/command.h"
#include "tests/support/unit.h"

#define CACHE_ITEMS 8

/* A file mapped executable into this process. */
struct mapping {
	void *memory;
	size_t size;
};

static struct mapping map_fd(int fd)
{
	struct mapping mapping = { .size = (size_t)sysconf(_SC_PAGESIZE) };

	mapping.memory = mmap(NULL, mapping.size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(mapping.memory, MAP_FAILED);
	return mapping;
}

static struct mapping map_path(const char *path)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return map_fd(fd);
}

static void unmap(struct mapping *mapping)
{
	assert_int_equal(munmap(mapping->memory, mapping->size), 0);
}

static struct mapped_file file_of(const struct mapping *mapping, pid_t pid, const char *path)
{
	return (struct mapped_file){
		.pid = (uint32_t)pid,
		.start = (uintptr_t)mapping->memory,
		.end = (uintptr_t)mapping->memory + mapping->size,
		.path = path,
	};
}

static struct executable_cache *new_cache(size_t max_items)
{
	struct executable_cache *cache = NULL;

	assert_ok(executable_cache_new(max_items, &cache));
	return cache;
}

static struct bytes content_of(const char *path)
{
	struct bytes content = BYTES_INIT(16 * MIB);

	assert_ok(file_read(path, &content));
	return content;
}

static char *copy_to(const char *folder, const char *name, const char *from)
{
	struct bytes content = content_of(from);
	char *path = write_file_in(folder, name, content.data, content.size);

	bytes_release(&content);
	return path;
}

/* What readelf says the build-ID is. */
static void read_build_id(const char *path, struct executable_id *ret_id)
{
	struct bytes out = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	char command[4096];
	char *text;

	(void)snprintf(command, sizeof(command), "readelf -n '%s'", path);
	assert_int_equal(command_output(command, &out), 0);
	text = strstr((char *)out.data, "Build ID: ");
	assert_non_null(text);
	text += strlen("Build ID: ");
	text[strcspn(text, "\n")] = '\0';
	assert_ok(executable_id_parse(text, ret_id));
	bytes_release(&out);
}

static struct executable *identify(struct executable_cache *cache, const char *path)
{
	struct mapping mapping = map_path(path);
	struct mapped_file file = file_of(&mapping, getpid(), path);
	struct executable *executable = NULL;

	assert_int_equal(executable_cache_identify(cache, &file, &executable), 1);
	unmap(&mapping);
	return executable;
}

static void a_file_is_identified_by_the_build_id_that_readelf_shows(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(CACHE_ITEMS);
	struct executable *executable = identify(cache, IDENTIFIED_PROGRAM);
	struct executable_id expected;

	(void)state;
	read_build_id(IDENTIFIED_PROGRAM, &expected);
	assert_true(executable_id_equal(&executable->id, &expected));
	assert_string_equal(executable->name, "identified_program");
	assert_int_equal(executable->role, EXECUTABLE_USER);
	assert_true(executable->n_segments > 0);
	assert_ptr_equal(executable_cache_by_number(cache, executable->number), executable);
	assert_ptr_equal(executable_cache_by_id(cache, &expected), executable);
}

static void one_file_is_one_executable_wherever_it_is_mapped(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(CACHE_ITEMS);
	char *copy = copy_to(*state, "copy", IDENTIFIED_PROGRAM);
	struct executable *first = identify(cache, IDENTIFIED_PROGRAM);

	assert_ptr_equal(identify(cache, IDENTIFIED_PROGRAM), first);
	assert_ptr_equal(identify(cache, copy), first);
	assert_ptr_equal(identify(cache, copy), first);
	assert_int_equal(executable_cache_count(cache), 1);
	free(copy);
}

static void an_executable_and_its_stripped_twin_have_one_identity(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(CACHE_ITEMS);
	struct executable *whole = identify(cache, ANONYMOUS_PROGRAM);

	(void)state;
	assert_int_equal(whole->id.kind, EXECUTABLE_ID_TEXT);
	assert_ptr_equal(identify(cache, ANONYMOUS_PROGRAM ".stripped"), whole);
}

static void a_file_that_changes_in_place_is_another_executable(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(CACHE_ITEMS);
	char *path = copy_to(*state, "program", IDENTIFIED_PROGRAM);
	uint32_t first = identify(cache, path)->number;
	char *again = copy_to(*state, "program", ANONYMOUS_PROGRAM);

	assert_int_not_equal(identify(cache, path)->number, first);
	free(again);
	free(path);
}

/* A child that has the parent's mappings until it is told to go. */
static pid_t fork_holder(int *ret_pipe)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char byte;

		(void)close(ends[1]);
		_exit(read(ends[0], &byte, 1) < 0);
	}
	(void)close(ends[0]);
	*ret_pipe = ends[1];
	return pid;
}

static void let_go(pid_t pid, int pipe)
{
	int status;

	(void)close(pipe);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void a_deleted_file_is_read_through_its_mapping_in_another_process(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(CACHE_ITEMS);
	char *path = copy_to(*state, "gone", IDENTIFIED_PROGRAM);
	struct mapping mapping = map_path(path);
	struct executable *executable = NULL;
	struct executable_id expected;
	struct mapped_file file;
	char deleted[4096];
	pid_t child;
	int pipe, fd;

	child = fork_holder(&pipe);
	assert_int_equal(unlink(path), 0);
	unmap(&mapping);
	(void)snprintf(deleted, sizeof(deleted), "%s (deleted)", path);
	file = file_of(&mapping, child, deleted);

	assert_int_equal(executable_cache_identify(cache, &file, &executable), 1);
	read_build_id(IDENTIFIED_PROGRAM, &expected);
	assert_true(executable_id_equal(&executable->id, &expected));
	assert_string_equal(executable->name, "gone");
	fd = executable_open(executable);
	assert_ok(fd);
	(void)close(fd);

	let_go(child, pipe);
	assert_errno(executable_open(executable), -ENOENT);
	free(path);
}

static void an_executable_in_memory_only_is_identified(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(CACHE_ITEMS);
	struct bytes content = content_of(IDENTIFIED_PROGRAM);
	scoped_fd int fd = memfd_create("jit", MFD_CLOEXEC);
	struct executable *executable = NULL;
	struct executable_id expected;
	struct mapping mapping;
	struct mapped_file file;

	(void)state;
	assert_ok(write_all(fd, content.data, content.size));
	mapping = map_fd(fd);
	file = file_of(&mapping, getpid(), "/memfd:jit (deleted)");
	assert_int_equal(executable_cache_identify(cache, &file, &executable), 1);
	read_build_id(IDENTIFIED_PROGRAM, &expected);
	assert_true(executable_id_equal(&executable->id, &expected));
	assert_string_equal(executable->name, "memfd:jit");
	unmap(&mapping);
	bytes_release(&content);
}

/* A program with one note, and nothing else to be known by. */
static char *write_go_program(const char *folder, const char *build_id)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[2];
		Elf64_Nhdr note;
		char name[4];
		char id[84];
	} file = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_EXEC,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 0x400000,
			  .p_filesz = sizeof(file), .p_memsz = sizeof(file), .p_align = 4096 },
			{ .p_type = PT_NOTE, .p_offset = offsetof(__typeof__(file), note),
			  .p_filesz = sizeof(file) - offsetof(__typeof__(file), note), .p_align = 4 },
		},
		.note = { .n_namesz = 4, .n_descsz = (Elf64_Word)strlen(build_id), .n_type = 4 },
		.name = "Go\0",
	};

	assert_true(strlen(build_id) <= sizeof(file.id));
	memcpy(file.id, build_id, strlen(build_id));
	return write_file_in(folder, "server", &file, sizeof(file));
}

static void a_go_program_is_identified_by_its_go_build_id(void **state)
{
	static const char build_id[] = "aLPs0KYIsTrPTIjwTdIc/oVmZE2RuD3kEXSrRUcQz/"
				       "PmSA7h1gN0wSRYYVsHcN/3Nfm1FpSgFvkMPDBSUXj";
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(CACHE_ITEMS);
	char *path = write_go_program(*state, build_id);
	struct executable *executable = identify(cache, path);

	assert_int_equal(executable->id.kind, EXECUTABLE_ID_GO);
	assert_int_equal(executable->id.size, strlen(build_id));
	assert_memory_equal(executable->id.bytes, build_id, strlen(build_id));
	assert_int_equal(executable->n_segments, 1);
	free(path);
}

static void odd_files_are_no_executables_and_no_harm(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(CACHE_ITEMS);
	struct bytes content = content_of(IDENTIFIED_PROGRAM);
	const struct {
		const char *name;
		const void *data;
		size_t size;
	} cases[] = {
		{ "text", "#!/bin/sh\n", 10 },
		{ "one-byte", "\x7f", 1 },
		{ "magic",
		  "\x7f"
		  "ELF",
		  4 },
		{ "header", content.data, 64 },
		{ "cut-in-program-headers", content.data, 100 },
		{ "zeros", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *path = write_file_in(*state, cases[i].name, cases[i].data, cases[i].size);
		struct mapping mapping = map_path(path);
		struct mapped_file file = file_of(&mapping, getpid(), path);
		struct executable *executable = NULL;

		assert_int_equal(executable_cache_identify(cache, &file, &executable), 0);
		assert_null(executable);
		unmap(&mapping);
		free(path);
	}
	assert_int_equal(executable_cache_count(cache), 0);
	bytes_release(&content);
}

static void mappings_without_a_file_are_not_identified(void **state)
{
	static const char *const paths[] = { "//anon",    "[heap]",
					     "[stack]",   "anon_inode:[perf_event]",
					     "",          "/dev/zero",
					     "/dev/null", "/SYSV00000000 (deleted)",
					     "/",         "/nonexistent/program" };
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(CACHE_ITEMS);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct mapped_file file = {
			.pid = (uint32_t)getpid(), .start = 0x1000, .end = 0x2000, .path = paths[i]
		};
		struct executable *executable = NULL;

		assert_int_equal(executable_cache_identify(cache, &file, &executable), 0);
	}
}

/* A path outside of what exists: whoever looks at the file finds none. */
static struct mapped_file vanished_file(const struct executable_id *id)
{
	return (struct mapped_file){ .pid = UINT32_MAX / 2,
				     .start = 0x1000,
				     .end = 0x2000,
				     .path = "/nonexistent/program",
				     .known_id = *id };
}

static void a_known_build_id_needs_no_file(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(CACHE_ITEMS);
	struct executable *first = identify(cache, IDENTIFIED_PROGRAM), *again = NULL;
	struct mapped_file file = vanished_file(&first->id);

	(void)state;
	assert_int_equal(executable_cache_identify(cache, &file, &again), 1);
	assert_ptr_equal(again, first);
}

static void segments_that_come_later_make_the_definition_go_out_again(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(CACHE_ITEMS);
	struct executable *executable = NULL;
	struct executable_id id;
	struct mapped_file file;

	(void)state;
	read_build_id(IDENTIFIED_PROGRAM, &id);
	file = vanished_file(&id);
	assert_int_equal(executable_cache_identify(cache, &file, &executable), 1);
	assert_int_equal(executable->n_segments, 0);
	executable->first_sent_sequence = 7;

	assert_ptr_equal(identify(cache, IDENTIFIED_PROGRAM), executable);
	assert_true(executable->n_segments > 0);
	assert_int_equal(executable->first_sent_sequence, 0);
}

static void a_file_found_by_name_must_have_the_build_id_of_the_event(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(CACHE_ITEMS);
	struct executable *executable = NULL;
	struct executable_id id;
	struct mapped_file file;

	(void)state;
	read_build_id(IDENTIFIED_PROGRAM, &id);
	/* The process is gone, and its path names a file of ours. */
	file = vanished_file(&id);
	file.path = IDENTIFIED_PROGRAM;
	assert_int_equal(executable_cache_identify(cache, &file, &executable), 1);
	assert_true(executable->n_segments > 0);

	id.bytes[0] ^= 0xff;
	file.known_id = id;
	assert_int_equal(executable_cache_identify(cache, &file, &executable), 1);
	assert_true(executable_id_equal(&executable->id, &id));
	assert_int_equal(executable->n_segments, 0);
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
	struct mapped_file file = vanished_file(&id);
	struct executable *executable = NULL;

	assert_int_equal(executable_cache_identify(cache, &file, &executable), 1);
	return executable;
}

static void unused_executables_leave_by_least_use_and_used_ones_stay(void **state)
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

static void numbers_are_never_used_twice(void **state)
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

#define in_folder(test)                                                                            \
	cmocka_unit_test_setup_teardown(test, temp_folder_setup, temp_folder_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_identified_by_the_build_id_that_readelf_shows),
		in_folder(one_file_is_one_executable_wherever_it_is_mapped),
		cmocka_unit_test(an_executable_and_its_stripped_twin_have_one_identity),
		in_folder(a_file_that_changes_in_place_is_another_executable),
		in_folder(a_deleted_file_is_read_through_its_mapping_in_another_process),
		cmocka_unit_test(an_executable_in_memory_only_is_identified),
		in_folder(a_go_program_is_identified_by_its_go_build_id),
		in_folder(odd_files_are_no_executables_and_no_harm),
		cmocka_unit_test(mappings_without_a_file_are_not_identified),
		cmocka_unit_test(a_known_build_id_needs_no_file),
		cmocka_unit_test(segments_that_come_later_make_the_definition_go_out_again),
		cmocka_unit_test(a_file_found_by_name_must_have_the_build_id_of_the_event),
		cmocka_unit_test(unused_executables_leave_by_least_use_and_used_ones_stay),
		cmocka_unit_test(numbers_are_never_used_twice),
		cmocka_unit_test(the_kernel_is_number_one_and_its_modules_follow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
