/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings of other processes: children, mount namespaces, and programs that are executed. */

#include "tests/unit/agent/process/mapped_libraries_fixture.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/support/wait_until.h"

static const char library_a[] = FIXTURES "/a.so", library_b[] = FIXTURES "/b.so";
/* These libraries have no build-ID. */
static const char plain_a[] = FIXTURES "/plain_a.so", plain_b[] = FIXTURES "/plain_b.so";

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

static void end_process(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void end_child(struct child *child)
{
	(void)close(child->done_fd);
	end_process(child->pid);
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

static bool runs(pid_t pid, const char *program)
{
	char exe[64] = "";

	return proc_exe_read((uint32_t)pid, exe, sizeof(exe)) == 0 && strstr(exe, program) != NULL;
}

static bool is_asleep_in_memfd(pid_t pid)
{
	struct proc_stat stat;

	/* The program sleeps when all its files are mapped. */
	return runs(pid, "memfd:") && proc_stat_read((uint32_t)pid, &stat) == 0 &&
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

		wait_until(is_asleep_in_memfd(pid));
		if (by_events)
			apply_events(fixture);
		process = process_of(fixture, pid);
		/* The second time from /proc, as after a loss of events. */
		if (by_events == 2)
			process_table_reread_mappings(fixture->table, process);
		process_table_read_details(fixture->table, process);
		assert_non_null(process->main_executable);
		assert_true(executable_id_equal(&process->main_executable->id, &expected));
		end_process(pid);
		apply_events(fixture);
	}
}

static void an_exec_removes_all_mappings_of_the_program_before(void **state)
{
	struct fixture *fixture = *state;
	char *const arguments[] = { (char *)"sleep", (char *)"60", NULL };
	pid_t pid;

	(void)begin(fixture);
	map_file(library_a);
	apply_events(fixture);
	pid = fork();
	if (pid == 0) {
		execv("/bin/sleep", arguments);
		_exit(127);
	}
	wait_until(runs(pid, "sleep"));
	/* The kernel writes the event a moment after it has changed the program. */
	wait_until(!mapping_at_code(fixture, pid));
	end_process(pid);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_child_has_the_libraries_of_its_parent_until_it_replaces_them),
		TEST(one_path_in_two_mount_namespaces_has_two_files),
		TEST(a_program_in_a_memfd_is_the_main_executable_of_its_process),
		TEST(an_exec_removes_all_mappings_of_the_program_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
