/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The command line of the symbolizer. Every configuration key is a flag. The other flags name the
 * configuration file, or request an answer instead of a run.
 */

#include "common/config_options.h"
#include "symbolizer/config.h"

/* Read if it exists and --config names no other file. */
#define SYMBOLIZER_CONFIG_FILE "/etc/hearth/symbolizer.yaml"

/*
 * Reads the configuration from the file, the environment and the flags, and checks it with
 * symbolizer_config_check(). @argv is not modified, so that the same call can read the
 * configuration again on SIGHUP. Returns an enum config_options_result, or a negative errno with
 * @ret_message filled. Fills @ret_config on OPTIONS_RUN; the caller calls
 * symbolizer_config_release().
 */
int options_parse(int argc, char **argv, char *const *environment, FILE *out,
		  struct symbolizer_config *ret_config, char ret_message[CONFIG_MESSAGE_SIZE]);
