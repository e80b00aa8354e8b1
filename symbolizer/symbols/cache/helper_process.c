/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper is started by posix_spawn() instead of fork(), because the server has much memory and
 * many threads. A pidfd is polled for its end.
 */

#include "symbolizer/symbols/cache/helper_process.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "common/file.h"
#include "symbolizer/symbols/code/code_exchange.h"

/*
 * Limit of the address space, which is larger than the memory used. Compilation needs about 1.5
 * times the size of the files; compressed sections may expand to DEBUG_EXPANDED_MAX_BYTES, and a
 * table is built besides.
 */
#define BASE_ADDRESS_SPACE_BYTES      (3 * GIB)
#define ADDRESS_SPACE_PER_INPUT_BYTES 4

/*
 * Limit of processor time. A helper usually processes 50 MB/s or more; on a slow machine with a
 * sanitizer, 1 MB/s.
 */
#define BASE_CPU_S            60
#define INPUT_BYTES_PER_CPU_S MIB

/* Limit of elapsed time. The helper has a low priority, so it may get little processor time. */
#define WALL_PER_CPU_S 4

/*
 * Limit of the stored form. The stored form of ceph-osd (630 MB of DWARF) has 7 MB. A value in
 * SQLite has at most a billion bytes.
 */
#define WRITTEN_MAX_BYTES (512 * MIB)

struct helper_limits helper_limits_for(uint64_t input_bytes)
{
	const uint64_t cpu_s = BASE_CPU_S + input_bytes / INPUT_BYTES_PER_CPU_S;

	return (struct helper_limits){
		.address_space_bytes =
			BASE_ADDRESS_SPACE_BYTES + ADDRESS_SPACE_PER_INPUT_BYTES * input_bytes,
		.written_bytes = WRITTEN_MAX_BYTES,
		.cpu_s = cpu_s,
		.wall_s = WALL_PER_CPU_S * cpu_s,
	};
}

#define CODE_ADDRESS_SPACE_BYTES GIB
#define CODE_CPU_S               5
#define CODE_WALL_S              10

struct helper_limits helper_limits_for_code(void)
{
	return (struct helper_limits){
		.address_space_bytes = CODE_ADDRESS_SPACE_BYTES,
		.written_bytes = CODE_ANSWER_MAX_BYTES + sizeof(struct table_helper_report),
		.cpu_s = CODE_CPU_S,
		.wall_s = CODE_WALL_S,
	};
}

void helper_result_release(struct helper_result *result)
{
	scoped_close(&result->stored_fd);
	result->stored_fd = -1;
}

/* ---- start -------------------------------------------------------------------------------------
 */

/* Duplicates of the helper's descriptors, at numbers above those they get in the helper. */
struct descriptors {
	int out;
	int inputs[N_TABLE_INPUTS];
};

static void release_descriptors(struct descriptors *descriptors)
{
	scoped_close(&descriptors->out);
	for (size_t i = 0; i < N_TABLE_INPUTS; i++)
		scoped_close(&descriptors->inputs[i]);
}

static int duplicate(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, TABLE_HELPER_FIRST_UNUSED_FD);

	return copy < 0 ? -errno : copy;
}

static int make_descriptors(const struct symbol_compile_input *input, int out,
			    struct descriptors *ret_descriptors)
{
	const int inputs[N_TABLE_INPUTS] = { input->main_fd, input->executable_fd, input->alt_fd,
					     input->split_fd };

	ret_descriptors->out = duplicate(out);
	if (ret_descriptors->out < 0)
		return ret_descriptors->out;
	for (size_t i = 0; i < N_TABLE_INPUTS; i++) {
		if (inputs[i] < 0)
			continue;
		ret_descriptors->inputs[i] = duplicate(inputs[i]);
		if (ret_descriptors->inputs[i] < 0)
			return ret_descriptors->inputs[i];
	}
	return 0;
}

/* Returns a positive error number, like posix_spawn(). */
static int fill_actions(posix_spawn_file_actions_t *actions, const struct descriptors *descriptors)
{
	int error = 0;

	for (int fd = 0; fd <= STDERR_FILENO && error == 0; fd++)
		error = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
	if (error == 0)
		error = posix_spawn_file_actions_adddup2(actions, descriptors->out,
							 TABLE_HELPER_OUT_FD);
	/* /dev/null replaces a missing input: its number may be a file of the server. */
	for (int i = 0; i < N_TABLE_INPUTS && error == 0; i++) {
		const int fd = TABLE_HELPER_INPUT_FD(i);

		error = descriptors->inputs[i] >= 0
				? posix_spawn_file_actions_adddup2(actions, descriptors->inputs[i],
								   fd)
				: posix_spawn_file_actions_addopen(actions, fd, "/dev/null",
								   O_RDONLY, 0);
	}
	if (error == 0)
		error = posix_spawn_file_actions_addclosefrom_np(actions,
								 TABLE_HELPER_FIRST_UNUSED_FD);
	return error;
}

/* The helper starts with no signal blocked or ignored. */
static int fill_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;
	int error;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	error = posix_spawnattr_setsigmask(attributes, &none);
	if (error == 0)
		error = posix_spawnattr_setsigdefault(attributes, &all);
	return error != 0 ? error
			  : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
									 POSIX_SPAWN_SETSIGDEF);
}

static int spawn_with(const struct helper_job *job, char **arguments,
		      const struct descriptors *descriptors, pid_t *ret_pid)
{
	/* Other variables of the environment are not passed on: they may hold secrets. */
	const char *libraries = getenv("LD_LIBRARY_PATH");
	scoped_free char *library_path = NULL;
	char *environment[2] = {};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int error;

	if (libraries && asprintf(&library_path, "LD_LIBRARY_PATH=%s", libraries) < 0)
		return -ENOMEM;
	environment[0] = library_path;
	error = posix_spawn_file_actions_init(&actions);
	if (error != 0)
		return -error;
	error = posix_spawnattr_init(&attributes);
	if (error == 0) {
		error = fill_actions(&actions, descriptors);
		if (error == 0)
			error = fill_attributes(&attributes);
		if (error == 0)
			error = posix_spawn(ret_pid, job->program, &actions, &attributes, arguments,
					    environment);
		(void)posix_spawnattr_destroy(&attributes);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	return -error;
}

static int spawn(const struct helper_job *job, const struct descriptors *descriptors,
		 pid_t *ret_pid)
{
	char parent[24], inputs[24], address_space[24], written[24], cpu[24];
	char *arguments[] = { (char *)job->program,
			      job->work == HELPER_DECODES_CODE ? CODE_HELPER_ARGUMENT
							       : TABLE_HELPER_ARGUMENT,
			      parent,
			      inputs,
			      address_space,
			      written,
			      cpu,
			      NULL };
	unsigned int bits = 0;

	static_assert(ARRAY_SIZE(arguments) == TABLE_HELPER_ARGUMENTS + 1, "as the header says");
	for (size_t i = 0; i < N_TABLE_INPUTS; i++)
		bits |= descriptors->inputs[i] >= 0 ? 1U << i : 0;
	(void)snprintf(parent, sizeof(parent), "%d", (int)getpid());
	(void)snprintf(inputs, sizeof(inputs), "%u", bits);
	(void)snprintf(address_space, sizeof(address_space), "%" PRIu64,
		       job->limits.address_space_bytes);
	(void)snprintf(written, sizeof(written), "%" PRIu64, job->limits.written_bytes);
	(void)snprintf(cpu, sizeof(cpu), "%" PRIu64, job->limits.cpu_s);
	return spawn_with(job, arguments, descriptors, ret_pid);
}

static int start(const struct helper_job *job, int out, pid_t *ret_pid)
{
	struct descriptors descriptors = { .out = -1, .inputs = { -1, -1, -1, -1 } };
	int r;

	r = make_descriptors(&job->input, out, &descriptors);
	if (r == 0)
		r = spawn(job, &descriptors, ret_pid);
	release_descriptors(&descriptors);
	return r;
}

/* ---- end ---------------------------------------------------------------------------------------
 */

enum ending {
	ENDED_BY_ITSELF,
	ENDED_BY_TIME,
	ENDED_BY_STOP,
};

static uint64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / NSEC_PER_MSEC;
}

/* Waits until the helper has ended, its time is over, or stop_fd is readable. */
static enum ending wait_for(int pidfd, const struct helper_job *job)
{
	const uint64_t deadline_ms = now_ms() + job->limits.wall_s * 1000;
	struct pollfd polled[] = { { .fd = pidfd, .events = POLLIN },
				   { .fd = job->stop_fd, .events = POLLIN } };

	for (;;) {
		uint64_t now = now_ms();
		int n;

		if (now >= deadline_ms)
			return ENDED_BY_TIME;
		n = poll(polled, ARRAY_SIZE(polled), (int)MIN(deadline_ms - now, (uint64_t)60000));
		if (n > 0 && polled[0].revents)
			return ENDED_BY_ITSELF;
		if (n > 0)
			return ENDED_BY_STOP;
	}
}

/* Waits for the helper and reaps it. If no pidfd can be opened, the helper is killed at once. */
static enum ending finish(pid_t pid, const struct helper_job *job, int *ret_status)
{
	scoped_fd int pidfd = pidfd_open(pid, 0);
	enum ending ending = pidfd >= 0 ? wait_for(pidfd, job) : ENDED_BY_STOP;

	/* The helper has not been reaped, so no other process can have its pid. */
	if (ending != ENDED_BY_ITSELF)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
		;
	return ending;
}

static void set_outcome(struct helper_result *result, enum helper_outcome outcome,
			const char *format, ...) printf_like(3, 4);

static void set_outcome(struct helper_result *result, enum helper_outcome outcome,
			const char *format, ...)
{
	va_list arguments;

	result->outcome = outcome;
	va_start(arguments, format);
	(void)vsnprintf(result->why, sizeof(result->why), format, arguments);
	va_end(arguments);
}

static void set_outcome_of_signal(const struct helper_job *job, int number,
				  struct helper_result *result)
{
	const char *name = sigabbrev_np(number);

	if (number == SIGXCPU)
		set_outcome(result, HELPER_DIED,
			    "it took more than %" PRIu64 " s of processor time", job->limits.cpu_s);
	else if (number == SIGXFSZ)
		set_outcome(result, HELPER_DIED, "the %s has more than %" PRIu64 " MiB",
			    job->work == HELPER_DECODES_CODE ? "answer" : "table",
			    job->limits.written_bytes / MIB);
	else if (number == SIGSYS)
		set_outcome(result, HELPER_DIED, "it made a forbidden system call (SIGSYS)");
	else if (number == SIGKILL)
		set_outcome(result, HELPER_DIED,
			    "it was killed (SIGKILL), for example because memory was short");
	else
		set_outcome(result, HELPER_DIED, "it crashed (SIG%s)", name ? name : "?");
}

/* Makes a single line of the helper's message, which may hold any bytes. */
static void clean_message(char *message, size_t size)
{
	message[size - 1] = '\0';
	for (char *c = message; *c; c++) {
		if (iscntrl((unsigned char)*c))
			*c = ' ';
	}
}

static void set_outcome_of_compilation(const struct helper_job *job, int error,
				       struct helper_result *result)
{
	const char *detail = result->report.message;

	if (error == -ENOMEM)
		set_outcome(result, HELPER_DIED, "it needs more than %" PRIu64 " MiB of memory",
			    job->limits.address_space_bytes / MIB);
	else if (error < 0)
		set_outcome(result, HELPER_REFUSED, "%s", *detail ? detail : strerror(-error));
	else
		set_outcome(result, HELPER_MADE_TABLE, "%s", detail);
}

/* Reads the report at the end of the helper's output. */
static void read_report(const struct helper_job *job, int out, struct helper_result *result)
{
	struct table_helper_report report;
	struct stat status;
	uint64_t size;

	if (fstat(out, &status) < 0 || status.st_size < (off_t)sizeof(report)) {
		set_outcome(result, HELPER_DIED, "it ended without a report");
		return;
	}
	size = (uint64_t)status.st_size - sizeof(report);
	if (pread_all(out, &report, sizeof(report), size) < 0 ||
	    memcmp(report.magic, TABLE_HELPER_MAGIC, sizeof(report.magic)) != 0) {
		set_outcome(result, HELPER_DIED, "it ended without a report");
		return;
	}
	clean_message(report.compile.message, sizeof(report.compile.message));
	result->report = report.compile;
	result->lacks = report.lacks;
	result->stored_bytes = size;
	set_outcome_of_compilation(job, report.result, result);
}

static void judge(const struct helper_job *job, int out, enum ending ending, int status,
		  struct helper_result *result)
{
	if (ending == ENDED_BY_TIME)
		set_outcome(result, HELPER_DIED, "it did not finish within %" PRIu64 " s",
			    job->limits.wall_s);
	else if (WIFSIGNALED(status))
		set_outcome_of_signal(job, WTERMSIG(status), result);
	else if (WEXITSTATUS(status) != 0)
		set_outcome(result, HELPER_DIED, "it ended with status %d", WEXITSTATUS(status));
	else
		read_report(job, out, result);
}

int helper_run(const struct helper_job *job, struct helper_result *ret_result)
{
	scoped_fd int out = memfd_create("symbol-table", MFD_CLOEXEC);
	struct helper_result result = { .stored_fd = -1 };
	enum ending ending;
	int status = 0;
	pid_t pid;
	int r;

	if (out < 0)
		return -errno;
	r = start(job, out, &pid);
	if (r < 0)
		return r;
	ending = finish(pid, job, &status);
	if (ending == ENDED_BY_STOP)
		return -ECANCELED;
	judge(job, out, ending, status, &result);
	if (result.outcome == HELPER_MADE_TABLE)
		result.stored_fd = take_fd(out);
	*ret_result = result;
	return 0;
}
