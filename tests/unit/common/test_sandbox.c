/* SPDX-License-Identifier: Apache-2.0 */
#include "common/sandbox.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/sanitized.h"
#include "tests/support/unit.h"

static int null_fd = -1;

static const struct sandbox_rules roomy = {
	.out_fd = 100,
	.address_space_bytes = 4 * GIB,
	.written_bytes = MIB,
	.cpu_s = 10,
};

/* Exit status 0: the attempt succeeded, 1: it was refused. */
typedef int (*attempt)(void);

/* The wait status of a process that enters the sandbox and makes an attempt. */
static int status_of(const struct sandbox_rules *rules, attempt try)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (rules && (dup2(null_fd, rules->out_fd) < 0 || sandbox_enter(rules) < 0))
			_exit(99);
		_exit(try());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void assert_ended(int status, int code)
{
	if (!WIFEXITED(status) || WEXITSTATUS(status) != code)
		fail_msg("status %#x, not the end with %d", (unsigned int)status, code);
}

static void assert_killed(int status, int number)
{
	if (!WIFSIGNALED(status) || WTERMSIG(status) != number)
		fail_msg("status %#x, not killed by '%s'", (unsigned int)status, strsignal(number));
}

static int open_a_file(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0;
}

static int make_a_folder(void)
{
	return mkdir("/tmp/hearth-sandbox-test", 0700) < 0 && errno == EACCES;
}

static int make_a_socket(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0;
}

static int connect_a_socket(void)
{
	/* Nobody listens at this address. A fence refuses the call before the kernel notices. */
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(1) };

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return connect(101, (struct sockaddr *)&address, sizeof(address)) < 0 && errno == EACCES;
}

static int make_a_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid < 0;
}

static int run_a_program(void)
{
	(void)execl("/bin/true", "true", (char *)NULL);
	return errno == EACCES;
}

static int signal_the_parent(void)
{
	return kill(getppid(), 0) < 0;
}

static int make_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	       MAP_FAILED;
}

static int write_elsewhere(void)
{
	return write(102, "x", 1) < 0;
}

static int look_at_a_parent(void)
{
	struct rlimit limit;

	return prlimit(getppid(), RLIMIT_CPU, NULL, &limit) < 0;
}

static void forbidden_system_calls_kill_the_process(void **state)
{
	static const attempt attempts[] = {
		open_a_file,   make_a_folder,     make_a_socket, connect_a_socket, make_a_process,
		run_a_program, signal_the_parent, make_code,     write_elsewhere,  look_at_a_parent,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++)
		assert_killed(status_of(&roomy, attempts[i]), SIGSYS);
	/* Without restrictions the attempts succeed. */
	assert_ended(status_of(NULL, open_a_file), 0);
	assert_ended(status_of(NULL, make_a_process), 0);
	assert_ended(status_of(NULL, make_code), 0);
	assert_ended(status_of(NULL, signal_the_parent), 0);
}

static void landlock_alone_forbids_files_and_sockets(void **state)
{
	struct sandbox_rules rules = roomy;

	(void)state;
	rules.without = SANDBOX_SECCOMP;
	/* Not open(), which also fails because no descriptor is left. */
	assert_ended(status_of(&rules, make_a_folder), 1);
	assert_ended(status_of(&rules, run_a_program), 1);
	assert_ended(status_of(&rules, connect_a_socket), 1);
}

static int enter_again_and_say(void)
{
	const struct sandbox_rules rules = { .out_fd = 100,
					     .address_space_bytes = GIB,
					     .cpu_s = 1,
					     .without = SANDBOX_LANDLOCK | SANDBOX_SECCOMP };

	return sandbox_enter(&rules);
}

static void missing_fences_are_returned(void **state)
{
	(void)state;
	assert_ended(status_of(NULL, enter_again_and_say), SANDBOX_LANDLOCK | SANDBOX_SECCOMP);
}

static void *in_a_thread(void *arg)
{
	void *memory = malloc(64 * KIB);

	*(int *)arg = memory != NULL;
	free(memory);
	return NULL;
}

static int compare_numbers(const void *left, const void *right)
{
	const unsigned int a = *(const unsigned int *)left, b = *(const unsigned int *)right;

	return a < b ? -1 : a > b;
}

/* So many items that qsort() reads the size of the memory. */
static bool sort_much(void)
{
	scoped_free unsigned int *numbers = calloc(MIB, sizeof(*numbers));

	if (!numbers)
		return false;
	for (unsigned int i = 0; i < MIB; i++)
		numbers[i] = i * 2654435761u;
	qsort(numbers, MIB, sizeof(*numbers), compare_numbers);
	return numbers[0] <= numbers[1];
}

static int work(void)
{
	int in_thread = 0;
	char *memory = malloc(32 * MIB);
	pthread_t thread;
	char byte;

	if (!memory)
		return 1;
	memset(memory, 1, 32 * MIB);
	memory = realloc(memory, 64 * MIB);
	free(memory);
	if (!sort_much())
		return 5;
	if (pread(100, &byte, 1, 0) != 0 || write(100, "x", 1) != 1)
		return 2;
	if (pthread_create(&thread, NULL, in_a_thread, &in_thread) != 0)
		return 3;
	(void)pthread_join(thread, NULL);
	return in_thread ? 0 : 4;
}

static void computing_reading_writing_the_result_and_threads_are_allowed(void **state)
{
	(void)state;
	assert_ended(status_of(&roomy, work), 0);
}

static int take_memory(void)
{
	/* Prevents the compiler from removing the unused allocation. */
	void *volatile piece;
	size_t taken = 0;

	while ((piece = malloc(16 * MIB)))
		taken += 16 * MIB;
	return taken < 512 * MIB;
}

static void memory_is_limited(void **state)
{
	struct sandbox_rules rules = roomy;

	(void)state;
	if (SANITIZED)
		skip(); /* AddressSanitizer reserves terabytes, so no limit is set */
	rules.address_space_bytes = 256 * MIB;
	assert_ended(status_of(&rules, take_memory), 1);
}

static int loop(void)
{
	for (volatile unsigned int i = 0;; i++)
		;
	return 0;
}

static void an_endless_loop_is_killed_at_the_cpu_limit(void **state)
{
	struct sandbox_rules rules = roomy;

	(void)state;
	rules.cpu_s = 1;
	assert_killed(status_of(&rules, loop), SIGXCPU);
}

static int write_much(void)
{
	static char block[64 * 1024];

	for (int i = 0; i < 32; i++) {
		if (write(100, block, sizeof(block)) != sizeof(block))
			return 1;
	}
	return 0;
}

static void a_large_result_is_stopped_at_the_file_limit(void **state)
{
	const int saved = null_fd;

	(void)state;
	null_fd = memfd_create("result", MFD_CLOEXEC);
	assert_true(null_fd >= 0);
	assert_killed(status_of(&roomy, write_much), SIGXFSZ);
	assert_int_equal(lseek(null_fd, 0, SEEK_END), roomy.written_bytes);
	(void)close(null_fd);
	null_fd = saved;
}

static int give_up(void)
{
	assert(getpid() == 1 && "as if something were wrong");
	return 0;
}

static void a_failed_assertion_writes_its_message(void **state)
{
	(void)state;
	assert_killed(status_of(&roomy, give_up), SIGABRT);
}

/*
 * Creates a process that ends as soon as its child has called sandbox_end_with_parent(). Returns
 * the pid of the child.
 */
static pid_t orphan(int pipe_fd)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		pid_t me = getpid();
		int ready[2];
		char byte;

		if (pipe(ready) < 0)
			_exit(1);
		pid = fork();
		if (pid == 0) {
			int r = sandbox_end_with_parent(me);

			(void)!write(pipe_fd, &r, sizeof(r));
			(void)!write(ready[1], "x", 1);
			(void)poll(NULL, 0, 60000);
			_exit(0);
		}
		(void)!read(ready[0], &byte, 1);
		_exit(0);
	}
	return pid;
}

static void the_process_is_killed_when_its_parent_ends(void **state)
{
	int ends[2], r = -1, status;
	pid_t parent;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	parent = orphan(ends[1]);
	(void)close(ends[1]);
	assert_int_equal(waitpid(parent, &status, 0), parent);
	assert_int_equal(read(ends[0], &r, sizeof(r)), sizeof(r));
	assert_int_equal(r, 0);
	/* The last holder of the other end was killed, long before its minute is over. */
	assert_int_equal(read(ends[0], &r, sizeof(r)), 0);
	(void)close(ends[0]);
}

static int follow_a_stranger(void)
{
	return sandbox_end_with_parent(1) == -ESRCH;
}

static void a_parent_that_has_ended_is_an_error(void **state)
{
	(void)state;
	assert_ended(status_of(NULL, follow_a_stranger), 1);
}

static int yield(void)
{
	char text[8] = "";
	int fd;

	sandbox_yield_to_others();
	fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
	return read(fd, text, 5) == 5 && strcmp(text, "1000\n") == 0;
}

static void the_process_is_the_first_oom_victim(void **state)
{
	(void)state;
	assert_ended(status_of(NULL, yield), 1);
}

static int open_descriptors(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd < 0 || fd < 0 || dup2(fd, 101) < 0 || dup2(null_fd, 102) < 0)
		return -1;
	return close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forbidden_system_calls_kill_the_process),
		cmocka_unit_test(landlock_alone_forbids_files_and_sockets),
		cmocka_unit_test(missing_fences_are_returned),
		cmocka_unit_test(computing_reading_writing_the_result_and_threads_are_allowed),
		cmocka_unit_test(memory_is_limited),
		cmocka_unit_test(an_endless_loop_is_killed_at_the_cpu_limit),
		cmocka_unit_test(a_large_result_is_stopped_at_the_file_limit),
		cmocka_unit_test(a_failed_assertion_writes_its_message),
		cmocka_unit_test(the_process_is_killed_when_its_parent_ends),
		cmocka_unit_test(a_parent_that_has_ended_is_an_error),
		cmocka_unit_test(the_process_is_the_first_oom_victim),
	};

	return cmocka_run_group_tests(tests, open_descriptors, NULL);
}
