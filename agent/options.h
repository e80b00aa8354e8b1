/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The agent's command line. Every key of the configuration is a flag; the rest says where the file
 * is, or asks for an answer instead of a run.
 */

#include <stdio.h>

#include "agent/config.h"

/* Read when it is there and --config does not name another. */
#define AGENT_CONFIG_FILE "/etc/hearth/agent.yaml"

enum options_result {
	OPTIONS_ANSWERED = 0, /* --help, --version, --check-config, --print-...: written to @out */
	OPTIONS_RUN = 1,
};

/*
 * Defaults, file, environment, flags; then agent_config_finish(). @argv is left as it is: the same
 * call reads the configuration again on SIGHUP. On OPTIONS_RUN *ret_config is filled
 * (agent_config_release() it). -EINVAL with @ret_message filled, other negative errno likewise.
 */
int options_parse(int argc, char **argv, char *const *environment, FILE *out,
		  struct agent_config *ret_config, char ret_message[CONFIG_MESSAGE_SIZE]);
