/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process/process_table.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/process/proc_files.h"
#include "agent/process/process_image.h"
#include "agent/cpu/cpu_list.h"
#include "common/elf/build_id.h"
#include "common/file.h"
#include "tests/support/unit.h"

/*
 * Tests of mappings with the events of the real kernel: this process and its children map
 * libraries, and the process table must find the file of each pc.
 */

/* Addresses at which nothing else is mapped. */
#define CODE ((void *)UINT64_C(0x7e0000000000))
#define PAGE ((size_t)4096)

struct fixture {
	char *folder;
	struct executable_cache *executables;
	struct string_table *strings;
	struct process_table *table;
	struct process_rules rules;
	struct process_observer observer;
	struct process_events *events;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct cpu_vec cpus = {};
	void *folder;

	assert_non_null(fixture);
	assert_int_equal(temp_folder_setup(&folder), 0);
	fixture->folder = folder;
	assert_ok(executable_cache_new(100, &fixture->executables));
	assert_ok(string_table_new(MIB, &fixture->strings));
	assert_ok(process_table_new(fixture->executables, fixture->strings, &fixture->rules,
				    &fixture->observer, &fixture->table));
	assert_ok(cpu_list_online(&cpus));
	/* Without permission for perf events, `events` becomes NULL and the tests are skipped. */
	assert_ok(process_events_new(&fixture->events));
	if (process_events_follow(fixture->events, cpus.items, cpus.count, NULL, NULL) < 0)
		fixture->events = process_events_free(fixture->events);
	vec_release(&cpus);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	void *folder = fixture->folder;

	(void)munmap(CODE, 64 * PAGE);
	process_events_free(fixture->events);
	process_table_free(fixture->table);
	executable_cache_free(fixture->executables);
	string_table_free(fixture->strings);
	free(fixture);
	return temp_folder_teardown(&folder);
}

/* Applies all events that the kernel has written so far. */
static void apply_events(struct fixture *fixture)
{
	const struct process_event *event;

	assert_ok(process_events_read(fixture->events));
	while ((event = process_events_next(fixture->events, UINT64_MAX)))
		assert_ok(process_table_apply(fixture->table, event));
}

/* Adds the process @pid to the table if it is not there yet. */
static struct process *process_of(struct fixture *fixture, pid_t pid)
{
	struct process *process;
	struct proc_stat stat;

	assert_ok(proc_stat_read((uint32_t)pid, &stat));
	assert_ok(process_table_find(fixture->table, (uint32_t)pid, stat.parent_pid,
				     stat.start_time_ns, "test", false, &process));
	return process;
}

/* Skips the test without permission; else returns this process, with all events applied. */
static struct process *begin(struct fixture *fixture)
{
	if (!fixture->events) {
		print_message("perf events need root: skipped\n");
		skip();
	}
	apply_events(fixture);
	return process_of(fixture, getpid());
}

/* Small libraries have one segment: the first page of the file is also that of the text. */
static void map_fd(int fd, void *address)
{
	assert_ptr_equal(mmap(address, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0),
			 address);
}

static void map_file(const char *path)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	map_fd(fd, CODE);
}

static void copy_file(const char *from, const char *to)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);

	assert_ok(file_read(from, &content));
	assert_ok(file_replace(to, content.data, content.size, 0755));
}

static struct executable_id id_of(const char *path)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct executable_id id = {};

	assert_true(fd >= 0);
	assert_ok(elf_file_open(fd, &elf));
	assert_int_equal(build_id_from_elf(elf, &id), 1);
	return id;
}

static void assert_is(struct fixture *fixture, struct process *process, const void *address,
		      const char *library)
{
	struct process_mapping *mapping = process_table_mapping(
		fixture->table, process, (uint64_t)(uintptr_t)address + 16, 1);
	struct executable_id expected = id_of(library);

	assert_non_null(mapping);
	assert_non_null(mapping->executable);
	assert_true(executable_id_equal(&mapping->executable->id, &expected));
}

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

/* ---- other processes ---- */

struct child {
	pid_t pid;
	int done_fd; /* a byte is written to it when the child has done its work */
};

static struct child start_child(void (*function)(const char *argument), const char *argument)
{
	struct child child;
	int done[2];
	char byte = 'x';

	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	child = (struct child){ .pid = fork(), .done_fd = done[0] };
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		(void)alarm(60);
		function(argument);
		(void)!write(done[1], &byte, 1);
		for (;;)
			(void)pause();
	}
	(void)close(done[1]);
	assert_int_equal(read(child.done_fd, &byte, 1), 1);
	return child;
}

static void end_child(struct child *child)
{
	(void)close(child->done_fd);
	assert_int_equal(kill(child->pid, SIGKILL), 0);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

static void do_nothing(const char *argument)
{
	(void)argument;
}

static void map_in_child(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 ||
	    mmap(CODE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) != CODE)
		_exit(1);
}

static void a_child_has_the_libraries_of_its_parent_until_it_replaces_them(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = begin(fixture);
	struct child heir, other;

	map_file(library_a);
	apply_events(fixture);
	heir = start_child(do_nothing, NULL);
	other = start_child(map_in_child, library_b);
	apply_events(fixture);
	assert_is(fixture, process_of(fixture, heir.pid), CODE, library_a);
	assert_is(fixture, process_of(fixture, other.pid), CODE, library_b);
	assert_is(fixture, process, CODE, library_a);
	assert_ptr_equal(process_of(fixture, heir.pid)->mappings, process->mappings);
	end_child(&heir);
	end_child(&other);
}

/* Maps another file with the same path in another mount namespace, over the folder of the path. */
static void map_in_namespace(const char *folder)
{
	scoped_free char *path = path_in(folder, "library.so");

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", folder, "tmpfs", 0, NULL) < 0)
		_exit(1);
	copy_file(strstr(folder, "plain") ? plain_b : library_b, path);
	map_in_child(path);
}

static void one_path_in_two_mount_namespaces_has_two_files(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = begin(fixture);
	static const char *const names[] = { "named", "plain" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		scoped_free char *folder = path_in(fixture->folder, names[i]);
		scoped_free char *path = NULL;
		struct child child;

		assert_int_equal(mkdir(folder, 0755), 0);
		path = path_in(folder, "library.so");
		copy_file(i == 0 ? library_a : plain_a, path);
		map_file(path);
		child = start_child(map_in_namespace, folder);
		apply_events(fixture);
		assert_is(fixture, process_of(fixture, child.pid), CODE,
			  i == 0 ? library_b : plain_b);
		assert_is(fixture, process, CODE, i == 0 ? library_a : plain_a);
		end_child(&child);
	}
}

/* The mapping at an address of a process, after all events so far were applied. */
static const struct process_mapping *mapping_at_code(struct fixture *fixture, pid_t pid)
{
	apply_events(fixture);
	return process_table_mapping(fixture->table, process_of(fixture, pid),
				     (uint64_t)(uintptr_t)CODE, 1);
}

/* Runs a program from a memfd, as container runtimes run themselves. */
static pid_t run_from_memfd(const char *program)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	char *const arguments[] = { (char *)"program", (char *)"60", NULL };
	char *const environment[] = { NULL };
	scoped_fd int fd = memfd_create("program", MFD_CLOEXEC);
	pid_t pid;

	assert_true(fd >= 0);
	assert_ok(file_read(program, &content));
	assert_ok(write_all(fd, content.data, content.size));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)fexecve(fd, arguments, environment);
		_exit(127);
	}
	return pid;
}

static bool proc_is_waiting(pid_t pid)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(KIB);
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/wchan", (int)pid);
	return file_read(path, &text) == 0 && bytes_append_byte(&text, 0) == 0 &&
	       strstr((char *)text.data, "nanosleep") != NULL;
}

static bool is_asleep_in_memfd(pid_t pid)
{
	struct proc_stat stat;
	char exe[64] = "";

	/* The program sleeps when all its files are mapped. */
	return proc_exe_read((uint32_t)pid, exe, sizeof(exe)) == 0 &&
	       strstr(exe, "memfd:") != NULL && proc_stat_read((uint32_t)pid, &stat) == 0 &&
	       proc_is_waiting(pid);
}

static void a_program_in_a_memfd_is_the_main_executable_of_its_process(void **state)
{
	struct fixture *fixture = *state;
	struct executable_id expected = id_of("/bin/sleep");

	(void)begin(fixture);
	for (size_t by_events = 0; by_events < 3; by_events++) {
		pid_t pid = run_from_memfd("/bin/sleep");
		struct process *process;

		for (int i = 0; i < 2000 && !is_asleep_in_memfd(pid); i++)
			usleep(1000);
		assert_true(is_asleep_in_memfd(pid));
		if (by_events)
			apply_events(fixture);
		process = process_of(fixture, pid);
		/* The second time from /proc, as after a loss of events. */
		if (by_events == 2)
			process_table_reread_mappings(fixture->table, process);
		process_table_read_details(fixture->table, process);
		assert_non_null(process->main_executable);
		assert_true(executable_id_equal(&process->main_executable->id, &expected));
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		apply_events(fixture);
	}
}

static void an_exec_removes_all_mappings_of_the_program_before(void **state)
{
	struct fixture *fixture = *state;
	char *const arguments[] = { (char *)"sleep", (char *)"60", NULL };
	const struct process_mapping *mapping;
	pid_t pid;

	(void)begin(fixture);
	map_file(library_a);
	apply_events(fixture);
	pid = fork();
	if (pid == 0) {
		execv("/bin/sleep", arguments);
		_exit(127);
	}
	/* Wait until it runs the other program. */
	for (int i = 0; i < 2000; i++) {
		char exe[64] = "";

		if (proc_exe_read((uint32_t)pid, exe, sizeof(exe)) == 0 && strstr(exe, "sleep"))
			break;
		usleep(1000);
	}
	/* The kernel writes the event a moment after it has changed the program. */
	mapping = mapping_at_code(fixture, pid);
	for (int i = 0; i < 2000 && mapping; i++) {
		usleep(1000);
		mapping = mapping_at_code(fixture, pid);
	}
	assert_null(mapping);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
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
		TEST(a_child_has_the_libraries_of_its_parent_until_it_replaces_them),
		TEST(one_path_in_two_mount_namespaces_has_two_files),
		TEST(a_program_in_a_memfd_is_the_main_executable_of_its_process),
		TEST(an_exec_removes_all_mappings_of_the_program_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
