/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The symbolizer's command line. Every key of the configuration is a flag; the rest says where the
 * file is, or asks for an answer instead of a run.
 */

#include <stdio.h>

#include "symbolizer/config.h"

/* Read when it is there and --config does not name another. */
#define SYMBOLIZER_CONFIG_FILE "/etc/hearth/symbolizer.yaml"

enum options_result {
	OPTIONS_ANSWERED =
		0, /* --help, --make-token, --check-config, --print-...: written to @out */
	OPTIONS_RUN = 1,
};

#define OPTIONS_MESSAGE_SIZE CONFIG_MESSAGE_SIZE

/*
 * Defaults, file, environment, flags; then symbolizer_config_check(). @argv is left as it is: the
 * same call reads the configuration again on SIGHUP. On OPTIONS_RUN *ret_config is filled
 * (symbolizer_config_release() it). -EINVAL with
 * @ret_message filled, other negative errno likewise.
 */
int options_parse(int argc, char **argv, char *const *environment, FILE *out,
		  struct symbolizer_config *ret_config, char ret_message[OPTIONS_MESSAGE_SIZE]);
