/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command many times in parallel.
 *
 *   many COUNT COMMAND [ARGUMENT...]
 *
 * {} in an argument is replaced by the number of the process, from 0. Prints "ready" when all
 * processes have executed the command. If this program ends for any reason, the kernel ends them
 * (PR_SET_PDEATHSIG). Exits with 1 as soon as one of them ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ARGUMENTS 32

static void die(const char *attempt)
{
	fprintf(stderr, "many: cannot %s: %s\n", attempt, strerror(errno));
	exit(1);
}

/* Returns @argument with the first {} replaced. The text is valid until exec. */
static char *argument_of(const char *argument, unsigned long number)
{
	const char *mark = strstr(argument, "{}");
	char *text;

	if (!mark)
		return strdup(argument);
	if (asprintf(&text, "%.*s%lu%s", (int)(mark - argument), argument, number, mark + 2) < 0)
		return NULL;
	return text;
}

static void execute(char **argv, unsigned long number, pid_t parent)
{
	char *arguments[MAX_ARGUMENTS + 1] = { NULL };

	for (size_t i = 0; argv[i]; i++)
		if (i == MAX_ARGUMENTS || !(arguments[i] = argument_of(argv[i], number)))
			_exit(127);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		_exit(127);
	(void)execvp(arguments[0], arguments);
	fprintf(stderr, "many: cannot execute '%s': %s\n", arguments[0], strerror(errno));
	_exit(127);
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	pid_t self = getpid();
	int executed[2], status;
	char byte;

	if (count == 0) {
		fprintf(stderr, "usage: many COUNT COMMAND [ARGUMENT...]\n");
		return 2;
	}
	/* The last exec closes the write end. */
	if (pipe2(executed, O_CLOEXEC) != 0)
		die("make a pipe");
	for (unsigned long i = 0; i < count; i++) {
		pid_t child = fork();

		if (child < 0)
			die("fork");
		if (child == 0)
			execute(argv + 2, i, self);
	}
	(void)close(executed[1]);
	while (read(executed[0], &byte, 1) < 0 && errno == EINTR)
		continue;
	puts("ready");
	(void)fflush(stdout);
	if (wait(&status) > 0)
		fprintf(stderr, "many: one of the processes ended with status %d\n", status);
	return 1;
}
