/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Runs a command of hearth in a process of its own and collects what it prints. */

#include "common/bytes.h"

struct command_output {
	struct bytes out;      /* stdout; the caller releases both in any case */
	struct bytes messages; /* stderr */
	int exit_status;       /* -1: the command was ended after its time limit, or by a signal */
	bool is_cut;           /* it printed more than @out or @messages may have */
};

/* Largest output that is kept. An assistant reads some hundred lines. */
#define COMMAND_OUTPUT_MAX_BYTES (48 * KIB)

/* A query of a day of a fleet takes some seconds. */
#define COMMAND_OUTPUT_MAX_S 120

/*
 * @arguments is argv, ended by NULL; argv[0] does not matter: the program is this one. Waits until
 * the command ends. Returns 0, or a negative errno if it could not be started.
 */
int command_output_run(char *const *arguments, struct command_output *ret_output);
void command_output_release(struct command_output *output);

#include "common/scoped.h"
#define scoped_command_output scoped(command_output_release)
