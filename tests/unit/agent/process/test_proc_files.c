/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process/proc_files.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/file.h"
#include "tests/support/unit.h"

static void the_stat_of_a_process_with_a_hostile_name_is_read(void **state)
{
	struct proc_stat stat;
	char before[16];

	(void)state;
	assert_int_equal(prctl(PR_GET_NAME, before), 0);
	assert_int_equal(prctl(PR_SET_NAME, "a) R 1 (b"), 0);
	assert_ok(proc_stat_read((uint32_t)getpid(), &stat));
	assert_int_equal(prctl(PR_SET_NAME, before), 0);
	assert_string_equal(stat.comm, "a) R 1 (b");
	assert_int_equal(stat.parent_pid, getppid());
	assert_false(stat.flags & PROC_FLAG_KERNEL_THREAD);
	assert_true(stat.start_time_ns > 0);
}

static void reading_an_exited_process_returns_esrch(void **state)
{
	struct proc_stat stat;
	char path[64];
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_errno(proc_stat_read((uint32_t)pid, &stat), -ESRCH);
	assert_errno(proc_cgroup_read((uint32_t)pid, path, sizeof(path)), -ESRCH);
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void the_cgroup_that_names_a_container_is_chosen_in_a_hybrid_hierarchy(void **state)
{
	static const struct {
		const char *text;
		const char *path;
	} cases[] = {
		{ "0::/system.slice/ssh.service\n", "/system.slice/ssh.service" },
		/* The container has groups in the old hierarchies only. */
		{ "9:name=systemd:/docker/" ID "\n4:memory:/docker/" ID
		  "\n0::/system.slice/containerd.service\n",
		  "/docker/" ID },
		{ "4:memory:/kubepods/pod1/" ID "\n1:name=systemd:/\n0::/\n",
		  "/kubepods/pod1/" ID },
		/* The first line is the unified hierarchy with the root. */
		{ "0::/\n1:name=systemd:/system.slice/cron.service\n2:cpu,cpuacct:/\n",
		  "/system.slice/cron.service" },
		{ "0::/system.slice/docker-" ID ".scope\n4:memory:/\n",
		  "/system.slice/docker-" ID ".scope" },
		/* Controllers often have coarser groups than systemd's hierarchy. */
		{ "4:memory:/user.slice\n1:name=systemd:/user.slice/session-3.scope\n"
		  "0::/user.slice/session-3.scope\n",
		  "/user.slice/session-3.scope" },
		{ "4:memory:/user.slice\n3:cpu:/jobs\n", "/user.slice" },
		{ "9:name=systemd:/\n0::/\n", "/" },
		{ "0::/one", "/one" },
		{ "no slash\n", "" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char path[256] = "?";

		proc_cgroup_parse(cases[i].text, path, sizeof(path));
		assert_string_equal(path, cases[i].path);
	}
}

struct search {
	uint64_t pc;
	struct proc_mapping found;
	char path[4096];
};

static int search_mapping(void *arg, const struct proc_mapping *mapping)
{
	struct search *search = arg;

	if (search->pc < mapping->start || search->pc >= mapping->end)
		return 0;
	search->found = *mapping;
	(void)snprintf(search->path, sizeof(search->path), "%s", mapping->path);
	return 0;
}

static void the_mapping_of_this_tests_code_is_executable_and_has_a_file(void **state)
{
	struct search search = { .pc = (uint64_t)(uintptr_t)search_mapping };
	char exe[4096];

	(void)state;
	assert_ok(proc_maps_read((uint32_t)getpid(), search_mapping, &search));
	assert_true(search.found.executable);
	assert_true(search.found.inode != 0);
	assert_ok(proc_exe_read((uint32_t)getpid(), exe, sizeof(exe)));
	assert_string_equal(search.path, exe);
}

static void anonymous_memory_has_no_path(void **state)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct search search = { .pc = (uint64_t)(uintptr_t)memory };

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_ok(proc_maps_read((uint32_t)getpid(), search_mapping, &search));
	munmap(memory, 4096);
	assert_string_equal(search.path, "");
	assert_int_equal(search.found.inode, 0);
	assert_true(search.found.executable);
}

static void only_base_names_of_the_first_two_arguments_are_kept(void **state)
{
	char first[256];
	char second[256];
	int ready[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		(void)dup2(ready[0], STDIN_FILENO);
		close(ready[1]);
		execv("/bin/sh", (char *[]){ (char *)"/usr/bin/python3x", (char *)"-c",
					     (char *)"read x", NULL });
		_exit(1);
	}
	close(ready[0]);
	/* Until its exec the child has the arguments of this test. */
	for (int i = 0; i < 10000; i++) {
		assert_ok(proc_argument_names_read((uint32_t)pid, first, second, sizeof(first)));
		if (strcmp(first, "python3x") == 0)
			break;
		usleep(1000);
	}
	assert_string_equal(first, "python3x");
	assert_string_equal(second, "-c");
	byte = '\n';
	assert_int_equal(write(ready[1], &byte, 1), 1);
	close(ready[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int count_self(void *arg, uint32_t pid)
{
	*(int *)arg += pid == (uint32_t)getpid();
	return 0;
}

static void *wait_for_end(void *argument)
{
	char byte;

	(void)!read(*(int *)argument, &byte, 1);
	_exit(0);
}

/* A process whose leader has exited runs as long as another thread does. */
static void threads_outlive_their_leader(void **state)
{
	char path[64];
	int to_child[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(to_child), 0);
	child = fork();
	if (child == 0) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, wait_for_end, &to_child[0]) == 0)
			pthread_exit(NULL);
		_exit(1);
	}
	assert_true(child > 0);
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", child);
	for (char state_of_leader = 0; state_of_leader != 'Z';) {
		scoped(bytes_release) struct bytes stat = BYTES_INIT(4096);

		assert_ok(file_read(path, &stat));
		assert_ok(bytes_append_byte(&stat, 0));
		state_of_leader = strrchr((const char *)stat.data, ')')[2];
	}
	assert_true(proc_has_live_threads((uint32_t)child));
	assert_int_equal(write(to_child[1], "x", 1), 1);
	/* A zombie. */
	assert_int_equal(waitid(P_PID, (id_t)child, &(siginfo_t){}, WEXITED | WNOWAIT), 0);
	assert_false(proc_has_live_threads((uint32_t)child));
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(proc_has_live_threads((uint32_t)child));
	close(to_child[0]);
	close(to_child[1]);
}

static void listing_processes_finds_this_process_once(void **state)
{
	int found = 0;

	(void)state;
	assert_ok(proc_list(count_self, &found));
	assert_int_equal(found, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stat_of_a_process_with_a_hostile_name_is_read),
		cmocka_unit_test(reading_an_exited_process_returns_esrch),
		cmocka_unit_test(the_cgroup_that_names_a_container_is_chosen_in_a_hybrid_hierarchy),
		cmocka_unit_test(the_mapping_of_this_tests_code_is_executable_and_has_a_file),
		cmocka_unit_test(anonymous_memory_has_no_path),
		cmocka_unit_test(only_base_names_of_the_first_two_arguments_are_kept),
		cmocka_unit_test(threads_outlive_their_leader),
		cmocka_unit_test(listing_processes_finds_this_process_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
