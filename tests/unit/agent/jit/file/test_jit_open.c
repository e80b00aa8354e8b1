/* SPDX-License-Identifier: Apache-2.0 */
/* The process is this program itself; its map is /tmp/perf-PID.map. */
#include "agent/jit/file/jit_open.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/support/unit.h"

static char map_path[64];

static uint64_t boot_ns(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &now), 0);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static void write_map(void)
{
	scoped_fd int fd = open(map_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "1000 10 a\n", 10), 10);
}

static int open_map_of(uint32_t pid)
{
	const struct jit_source source = { .pid = pid, .start_time_ns = boot_ns() };
	int fd = jit_open_map(&source);

	if (fd >= 0)
		(void)close(fd);
	return MIN(fd, 0);
}

static int open_map(void)
{
	return open_map_of((uint32_t)getpid());
}

static int remove_map(void **state)
{
	(void)state;
	(void)unlink(map_path);
	return 0;
}

static void a_map_of_the_process_is_opened(void **state)
{
	(void)state;
	assert_errno(open_map(), -ENOENT);
	write_map();
	assert_ok(open_map());
}

static void links_and_special_files_are_refused(void **state)
{
	(void)state;
	assert_int_equal(symlink("/proc/self/exe", map_path), 0);
	assert_errno(open_map(), -EPERM);
	assert_int_equal(unlink(map_path), 0);
	assert_int_equal(mkfifo(map_path, 0644), 0);
	assert_errno(open_map(), -EPERM);
	assert_int_equal(unlink(map_path), 0);
	assert_int_equal(mkdir(map_path, 0755), 0);
	assert_errno(open_map(), -EPERM);
	assert_int_equal(rmdir(map_path), 0);
}

static void a_map_of_another_user_is_refused(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	write_map();
	assert_int_equal(chown(map_path, 12345, 12345), 0);
	assert_errno(open_map(), -EPERM);
}

static void a_map_older_than_the_process_is_refused(void **state)
{
	struct timespec old[2];

	(void)state;
	write_map();
	assert_int_equal(clock_gettime(CLOCK_REALTIME, &old[0]), 0);
	old[0].tv_sec -= 3600;
	old[1] = old[0];
	assert_int_equal(utimensat(AT_FDCWD, map_path, old, 0), 0);
	assert_errno(open_map(), -EPERM);
}

static void the_map_of_a_process_that_has_ended_is_opened(void **state)
{
	struct jit_source source = { .parent_pid = (uint32_t)getpid(), .start_time_ns = boot_ns() };
	char path[64];
	pid_t pid = fork();
	int fd;

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	(void)close(fd);
	source.pid = (uint32_t)pid;
	fd = jit_open_map(&source);
	(void)unlink(path);
	assert_ok(fd);
	(void)close(fd);
}

static void jitdumps_are_known_by_their_name(void **state)
{
	static const struct {
		const char *path;
		bool is_dump;
	} cases[] = {
		{ "/tmp/jit-1.dump", true },
		{ "/srv/.debug/jit/x/jit-12345.dump", true },
		{ "/tmp/jit-1.dump (deleted)", true },
		{ "/tmp/jit-.dump", false },
		{ "/tmp/jit-1.so", false },
		{ "/tmp/x-jit-1.dump", false },
		{ "jit-1.dump", false },
		{ "//anon", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(jit_is_dump_path(cases[i].path), cases[i].is_dump);
}

static void a_mapped_jitdump_is_opened(void **state)
{
	scoped(scoped_freep) char *path = write_file_in(*state, "jit-1.dump", "dump", 4);
	scoped_fd int file = open(path, O_RDONLY | O_CLOEXEC);
	void *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
	struct jit_source source = { .pid = (uint32_t)getpid(), .path = path };
	struct stat status;
	int fd;

	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(fstat(file, &status), 0);
	source.start = (uintptr_t)memory;
	source.end = source.start + 4096;
	source.reported.inode = status.st_ino;
	fd = jit_open_dump(&source);
	assert_ok(fd);
	(void)close(fd);

	/* Another inode was mapped there. */
	source.reported.inode++;
	assert_true(jit_open_dump(&source) < 0);

	/* The mapping is gone, but the file is the same. */
	source.reported.inode = status.st_ino;
	assert_int_equal(munmap(memory, 4096), 0);
	fd = jit_open_dump(&source);
	assert_ok(fd);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_map_of_the_process_is_opened, remove_map),
		cmocka_unit_test_teardown(links_and_special_files_are_refused, remove_map),
		cmocka_unit_test_teardown(a_map_of_another_user_is_refused, remove_map),
		cmocka_unit_test_teardown(a_map_older_than_the_process_is_refused, remove_map),
		cmocka_unit_test(the_map_of_a_process_that_has_ended_is_opened),
		cmocka_unit_test(jitdumps_are_known_by_their_name),
		in_folder(a_mapped_jitdump_is_opened),
	};

	(void)snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
