/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hearth-symbolizer: reads the configuration, starts the server, and then waits for signals. All
 * requests are served by the threads of the HTTP server.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "symbolizer/backup_command.h"
#include "symbolizer/check_command.h"
#include "symbolizer/options.h"
#include "symbolizer/regular_work.h"
#include "symbolizer/service_manager.h"
#include "symbolizer/symbolizer.h"
#include "symbolizer/symbols/compile/table_helper.h"

/* Blocks the signals that wait_for_signals() waits for. Called before any thread starts, so that
 * all threads inherit the mask and none of them receives the signals. */
static sigset_t block_signals(void)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
	/* Writing to a connection that the client closed must return an error and not end the
	 * server. */
	(void)signal(SIGPIPE, SIG_IGN);
	return signals;
}

static void reload(struct symbolizer *symbolizer, int argc, char **argv)
{
	scoped(symbolizer_config_release) struct symbolizer_config config = {};
	char message[CONFIG_MESSAGE_SIZE];

	if (options_parse(argc, argv, environ, stdout, &config, message) == OPTIONS_RUN)
		symbolizer_reload(symbolizer, &config);
	else
		log_error("cannot reload the configuration, keeping the previous one: %s", message);
}

static void do_regular_work(struct symbolizer *symbolizer, struct regular_work *work)
{
	unsigned int due = regular_work_take(work, clock_monotonic_ns(&system_clock));

	if (due & REGULAR_TOKENS)
		symbolizer_check_tokens(symbolizer);
	if (due & REGULAR_PRUNE)
		symbolizer_prune(symbolizer);
}

/* Returns at SIGTERM or SIGINT. */
static void wait_for_signals(struct symbolizer *symbolizer, const sigset_t *signals, int argc,
			     char **argv)
{
	struct regular_work work = {};

	for (;;) {
		struct timespec patience;
		uint64_t wait_ns;
		int number;

		do_regular_work(symbolizer, &work);
		wait_ns = regular_work_wait_ns(&work, clock_monotonic_ns(&system_clock));
		patience.tv_sec = (time_t)(wait_ns / NSEC_PER_SEC);
		patience.tv_nsec = (long)(wait_ns % NSEC_PER_SEC);
		number = sigtimedwait(signals, NULL, &patience);
		if (number == SIGHUP)
			reload(symbolizer, argc, argv);
		else if (number > 0)
			return;
	}
}

static int serve(const struct symbolizer_config *config, int argc, char **argv)
{
	scoped(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	const char *notify_socket = getenv("NOTIFY_SOCKET");
	char message[SYMBOLIZER_MESSAGE_SIZE];
	sigset_t signals = block_signals();
	int r;

	log_set_level(symbolizer_config_log_level(config));
	if (symbolizer_start(config, &system_clock, &symbolizer, message) < 0) {
		log_error("%s", message);
		return EXIT_FAILURE;
	}
	log_info("hearth-symbolizer " HEARTH_VERSION " serves port %u, data in '%s'",
		 symbolizer_port(symbolizer), config->data);
	r = service_manager_notify(notify_socket, "READY=1");
	if (r < 0)
		(void)log_warn_errno(r,
				     "cannot report readiness to '%s' (NOTIFY_SOCKET), systemd may "
				     "stop this service: %m",
				     notify_socket);

	wait_for_signals(symbolizer, &signals, argc, argv);

	(void)service_manager_notify(notify_socket, "STOPPING=1");
	log_info("stopping");
	return EXIT_SUCCESS;
}

static int back_up(const struct symbolizer_config *config)
{
	const bool has_samples = strcmp(config->store, "clickhouse") != 0;
	char message[BACKUP_MESSAGE_SIZE] = "out of memory";

	/* Each day has three open files. */
	symbolizer_raise_file_limit();
	if (backup_command(config->data, has_samples, config->backup, message) < 0) {
		log_error("%s", message);
		return EXIT_FAILURE;
	}
	log_info("copied '%s' to '%s'", config->data, config->backup);
	return EXIT_SUCCESS;
}

static int check(const struct symbolizer_config *config)
{
	char message[CHECK_MESSAGE_SIZE];
	size_t n_faults;

	symbolizer_raise_file_limit();
	if (check_command(config->data, &n_faults, message) < 0) {
		log_error("%s", message);
		return EXIT_FAILURE;
	}
	return n_faults > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	scoped(symbolizer_config_release) struct symbolizer_config config = {};
	char message[CONFIG_MESSAGE_SIZE];
	int r;

	/* The program runs itself as the helper that compiles symbol tables (table_helper.h). */
	if (table_helper_is_asked(argc, argv))
		table_helper_run(argc, argv);
	r = options_parse(argc, argv, environ, stdout, &config, message);
	if (r < 0) {
		log_error("%s", message);
		return EXIT_FAILURE;
	}
	if (r == OPTIONS_ANSWERED)
		return EXIT_SUCCESS;
	if (config.check)
		return check(&config);
	return config.backup ? back_up(&config) : serve(&config, argc, argv);
}
