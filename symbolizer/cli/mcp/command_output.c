/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/mcp/command_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

#define READ_BYTES (16 * KIB)

/* The ends of two pipes: [0] for stdout of the command, [1] for its stderr. */
struct pipes {
	int readers[2];
	int writers[2];
};

static void close_all(int fds[2])
{
	for (size_t i = 0; i < 2; i++) {
		scoped_close(&fds[i]);
		fds[i] = -1;
	}
}

static void pipes_release(struct pipes *pipes)
{
	close_all(pipes->readers);
	close_all(pipes->writers);
}

static int make_pipes(struct pipes *pipes)
{
	for (size_t i = 0; i < 2; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) < 0)
			return -errno;
		pipes->readers[i] = ends[0];
		pipes->writers[i] = ends[1];
	}
	return 0;
}

/* stdin of the command is empty: ours has the messages of the session. */
static int spawn(char *const *arguments, const struct pipes *pipes, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error != 0)
		return -error;
	error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (error == 0)
		error = posix_spawn_file_actions_adddup2(&actions, pipes->writers[0],
							 STDOUT_FILENO);
	if (error == 0)
		error = posix_spawn_file_actions_adddup2(&actions, pipes->writers[1],
							 STDERR_FILENO);
	if (error == 0)
		error = posix_spawn(ret_pid, "/proc/self/exe", &actions, NULL, arguments, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return -error;
}

/* Keeps what fits. */
static void keep(struct command_output *output, struct bytes *kept, const uint8_t *data,
		 size_t size)
{
	size_t room = COMMAND_OUTPUT_MAX_BYTES - kept->size;

	output->is_cut = output->is_cut || size > room;
	(void)bytes_append(kept, data, MIN(size, room));
}

/* Reads once from each pipe that has data, and closes those that have ended. */
static void read_ready(struct pipes *pipes, const struct pollfd polled[2],
		       struct command_output *output)
{
	uint8_t data[READ_BYTES];

	for (size_t i = 0; i < 2; i++) {
		ssize_t n;

		if (polled[i].revents == 0)
			continue;
		n = read(pipes->readers[i], data, sizeof(data));
		if (n > 0) {
			keep(output, i == 0 ? &output->out : &output->messages, data, (size_t)n);
		} else if (n == 0 || errno != EINTR) {
			scoped_close(&pipes->readers[i]);
			pipes->readers[i] = -1;
		}
	}
}

/* Returns false if the time is over before both pipes have ended. */
static bool read_until_end(struct pipes *pipes, struct command_output *output)
{
	const uint64_t end_ns =
		clock_monotonic_ns(&system_clock) + COMMAND_OUTPUT_MAX_S * NSEC_PER_SEC;

	while (pipes->readers[0] >= 0 || pipes->readers[1] >= 0) {
		struct pollfd polled[2] = { { .fd = pipes->readers[0], .events = POLLIN },
					    { .fd = pipes->readers[1], .events = POLLIN } };
		uint64_t now_ns = clock_monotonic_ns(&system_clock);

		if (now_ns >= end_ns)
			return false;
		if (poll(polled, 2, (int)((end_ns - now_ns) / NSEC_PER_MSEC) + 1) > 0)
			read_ready(pipes, polled, output);
	}
	return true;
}

/* Returns the exit status, or -1 after a signal. */
static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int command_output_run(char *const *arguments, struct command_output *ret_output)
{
	scoped(pipes_release) struct pipes pipes = { { -1, -1 }, { -1, -1 } };
	struct command_output output = { .out = BYTES_INIT(COMMAND_OUTPUT_MAX_BYTES),
					 .messages = BYTES_INIT(COMMAND_OUTPUT_MAX_BYTES) };
	pid_t pid;
	int r = make_pipes(&pipes);

	if (r == 0)
		r = spawn(arguments, &pipes, &pid);
	if (r < 0)
		return r;
	close_all(pipes.writers);
	if (!read_until_end(&pipes, &output))
		(void)kill(pid, SIGKILL);
	output.exit_status = wait_for(pid);
	r = bytes_error(&output.out) < 0 ? bytes_error(&output.out) : bytes_error(&output.messages);
	if (r < 0)
		command_output_release(&output);
	else
		*ret_output = output;
	return r;
}

void command_output_release(struct command_output *output)
{
	bytes_release(&output->out);
	bytes_release(&output->messages);
}
