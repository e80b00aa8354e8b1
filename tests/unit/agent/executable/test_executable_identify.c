/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/executable_file.h"
#include "agent/executable/file_finder.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "common/clock.h"
#include "common/file.h"
#include "tests/support/command.h"
#include "tests/support/unit.h"

#define CACHE_ITEMS 8
#define MAX_TICK_NS (10 * NSEC_PER_MSEC) /* as in file_finder.c */

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

/* Reads the build-ID with readelf. */
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

/* Forks a child that keeps the parent's mappings until release_holder(). */
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

static void release_holder(pid_t pid, int pipe)
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

	release_holder(child, pipe);
	assert_errno(executable_open(executable), -ENOENT);
	free(path);

	/* Another process has mapped a copy. */
	path = copy_to(*state, "copy", IDENTIFIED_PROGRAM);
	mapping = map_path(path);
	file = file_of(&mapping, getpid(), path);
	assert_ok(executable_cache_replace_source(cache, executable, &file));
	assert_int_equal(unlink(path), 0);
	assert_false(executable->source_is_trusted);
	fd = executable_open(executable);
	assert_ok(fd);
	(void)close(fd);
	unmap(&mapping);
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

/* Writes a program that has one note and no other identity. */
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
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT },
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
			  .p_filesz = sizeof(file) - offsetof(__typeof__(file), note),
			  .p_align = 4 },
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

static void malformed_files_are_not_executables(void **state)
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

/* The kernel's report of a file that is mapped now. */
static struct reported_file report_of(const char *path)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	return (struct reported_file){
		.device = status.st_dev,
		.inode = status.st_ino,
		/* For a file system that reports no generation: the kernel has one nevertheless. */
		.generation = file_generation(fd) ? file_generation(fd) : 7,
		.mapped_ns = clock_monotonic_ns(&system_clock),
	};
}

static bool file_generation_is_known(const char *path)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && file_generation(fd) != 0;
}

/* Identifies a mapping of a process that has ended. */
static int identify_reported(struct executable_cache *cache, const char *path,
			     const struct reported_file *reported,
			     struct executable **ret_executable)
{
	const struct mapped_file file = { .pid = UINT32_MAX / 2,
					  .start = 0x1000,
					  .end = 0x2000,
					  .path = path,
					  .reported = *reported };

	return executable_cache_identify(cache, &file, ret_executable);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	assert_int_equal(clock_gettime(clock, &now), 0);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/*
 * The kernel takes the time of a file's change from a clock that advances with each tick, and a
 * tick may be late. Waits until that clock is ahead of now by the time that is tolerated for files
 * without generations.
 */
static void wait_for_the_next_tick(void)
{
	uint64_t now_ns = clock_ns(CLOCK_REALTIME);

	while (clock_ns(CLOCK_REALTIME_COARSE) <= now_ns + MAX_TICK_NS)
		usleep(1000);
}

static void a_file_of_an_ended_process_is_found_by_its_path(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(CACHE_ITEMS);
	struct reported_file reported = report_of(IDENTIFIED_PROGRAM);
	struct executable *executable = NULL;
	struct executable_id id;

	(void)state;
	read_build_id(IDENTIFIED_PROGRAM, &id);
	assert_int_equal(identify_reported(cache, IDENTIFIED_PROGRAM, &reported, &executable), 1);
	assert_true(executable_id_equal(&executable->id, &id));
	assert_true(executable->n_segments > 0);
}

static void a_repeated_report_needs_no_file(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(CACHE_ITEMS);
	struct reported_file reported = report_of(IDENTIFIED_PROGRAM);
	struct executable *first = NULL, *again = NULL;

	(void)state;
	assert_int_equal(identify_reported(cache, "/nonexistent/program", &reported, &again), 0);
	assert_int_equal(identify_reported(cache, IDENTIFIED_PROGRAM, &reported, &first), 1);
	assert_int_equal(identify_reported(cache, "/nonexistent/program", &reported, &again), 1);
	assert_ptr_equal(again, first);
	/* The inode is reused. */
	reported.generation++;
	assert_int_equal(identify_reported(cache, "/nonexistent/program", &reported, &again), 0);
}

static void another_file_with_the_same_path_is_rejected(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(CACHE_ITEMS);
	struct reported_file reported = report_of(IDENTIFIED_PROGRAM);
	struct executable *executable = NULL;

	(void)state;
	reported.inode++;
	assert_int_equal(identify_reported(cache, IDENTIFIED_PROGRAM, &reported, &executable), 0);
	reported = report_of(IDENTIFIED_PROGRAM);
	reported.generation++;
	assert_int_equal(identify_reported(cache, IDENTIFIED_PROGRAM, &reported, &executable),
			 file_generation_is_known(IDENTIFIED_PROGRAM) ? 0 : 1);
}

/* The file is deleted and created again (with the same or another inode), or overwritten. */
static void a_file_that_changed_since_it_was_mapped_is_rejected(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(CACHE_ITEMS);
	scoped(bytes_release) struct bytes content = BYTES_INIT(64 * MIB);
	char path[PATH_MAX];
	struct executable *executable = NULL;
	struct reported_file reported;

	assert_ok(file_read(IDENTIFIED_PROGRAM, &content));
	(void)snprintf(path, sizeof(path), "%s/program", (const char *)*state);
	assert_ok(file_replace(path, content.data, content.size, 0755));
	wait_for_the_next_tick();
	reported = report_of(path);
	wait_for_the_next_tick();
	for (int i = 0; i < 20; i++) {
		scoped_fd int fd = -1;

		if (i % 2)
			assert_int_equal(unlink(path), 0);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
		assert_true(fd >= 0);
		assert_ok(write_all(fd, content.data, content.size));
		assert_int_equal(identify_reported(cache, path, &reported, &executable), 0);
	}
	reported = report_of(path);
	wait_for_the_next_tick();
	reported.mapped_ns = clock_monotonic_ns(&system_clock);
	assert_int_equal(identify_reported(cache, path, &reported, &executable), 1);
}

/* By now the process has mapped another file at that address. */
static void a_later_mapping_at_the_same_address_is_rejected(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = new_cache(CACHE_ITEMS);
	struct executable *now = identify(cache, IDENTIFIED_PROGRAM), *then = NULL;
	struct reported_file reported = report_of("/proc/self/exe");
	struct executable_id own;
	scoped_fd int fd = open(IDENTIFIED_PROGRAM, O_RDONLY | O_CLOEXEC);
	void *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	char path[PATH_MAX] = "";
	struct mapped_file file = { .pid = (uint32_t)getpid(), .path = path, .reported = reported };

	(void)state;
	assert_true(memory != MAP_FAILED);
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	read_build_id(path, &own);
	file.start = (uint64_t)(uintptr_t)memory;
	file.end = file.start + 4096;
	assert_int_equal(executable_cache_identify(cache, &file, &then), 1);
	assert_ptr_not_equal(then, now);
	assert_true(executable_id_equal(&then->id, &own));
	assert_int_equal(munmap(memory, 4096), 0);
}

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
		in_folder(malformed_files_are_not_executables),
		cmocka_unit_test(mappings_without_a_file_are_not_identified),
		cmocka_unit_test(a_file_of_an_ended_process_is_found_by_its_path),
		cmocka_unit_test(a_repeated_report_needs_no_file),
		cmocka_unit_test(another_file_with_the_same_path_is_rejected),
		in_folder(a_file_that_changed_since_it_was_mapped_is_rejected),
		cmocka_unit_test(a_later_mapping_at_the_same_address_is_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
