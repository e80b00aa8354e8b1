/* SPDX-License-Identifier: Apache-2.0 */
/* The program hearth-agent: reads the configuration, runs the agent, returns its exit code. */
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/helper/nursery.h"
#include "agent/options.h"
#include "common/log.h"

struct reloader {
	int argc;
	char **argv;
	struct agent_config configs[2]; /* the one in use, and the next one while it is read */
	size_t current;
};

static void set_log_level(const struct agent_config *config)
{
	enum log_level level;

	if (log_level_from_name(config->log_level, &level))
		log_set_level(level);
}

static void reload(void *arg, struct agent *agent)
{
	struct reloader *reloader = arg;
	struct agent_config *next = &reloader->configs[!reloader->current];
	char message[CONFIG_MESSAGE_SIZE];
	int r;

	r = options_parse(reloader->argc, reloader->argv, environ, stderr, next, message);
	if (r != OPTIONS_RUN) {
		log_error("cannot reload the configuration, keeping the previous one: %s",
			  r < 0 ? message : "the options print help or a version");
		return;
	}
	if (agent_set_config(agent, next) < 0) {
		agent_config_release(next);
		log_error("cannot apply the new configuration, keeping the previous one");
		return;
	}
	agent_config_release(&reloader->configs[reloader->current]);
	reloader->current = !reloader->current;
	set_log_level(next);
	log_info("configuration reloaded");
}

/*
 * Blocks the signals that the agent reads from a signalfd(2). Call it before any thread starts,
 * because threads inherit the mask.
 */
static void block_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

/*
 * The agent's large allocations are short-lived: a table that is compiled, a file that is uploaded.
 * By default, when the first of them is freed, glibc raises its threshold for mmap(2), so that it
 * keeps the memory of later ones in the heap. With a fixed threshold, glibc maps each large
 * allocation separately: free() unmaps it, and realloc() can use mremap(2) instead of copying.
 *
 * All threads share one arena. They allocate little, and an arena for each thread would keep
 * unused memory.
 */
static void keep_memory_small(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, 128 * (int)KIB);
	(void)mallopt(M_TRIM_THRESHOLD, 256 * (int)KIB);
	(void)mallopt(M_ARENA_MAX, 1);
}

int main(int argc, char **argv)
{
	scoped(nursery_freep) struct nursery *nursery = NULL;
	scoped(agent_freep) struct agent *agent = NULL;
	struct reloader reloader = { .argc = argc, .argv = argv };
	char message[CONFIG_MESSAGE_SIZE];
	int r;

	r = nursery_start(argc, argv, &nursery);
	if (r < 0) {
		(void)log_error_errno(
			r,
			"cannot fork the process that forks helpers: %m, not starting; raise the "
			"limits of the service or container for memory, open files and tasks");
		return EXIT_FAILURE;
	}
	keep_memory_small();
	r = options_parse(argc, argv, environ, stdout, &reloader.configs[0], message);
	if (r < 0) {
		log_error("%s", message);
		return EXIT_FAILURE;
	}
	if (r == OPTIONS_ANSWERED)
		return EXIT_SUCCESS;
	set_log_level(&reloader.configs[0]);
	block_signals();
	r = agent_new(&reloader.configs[0], nursery, &agent);
	if (r == 0)
		r = agent_run(agent, reload, &reloader);
	agent = agent_free(agent);
	agent_config_release(&reloader.configs[reloader.current]);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
