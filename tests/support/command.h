/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Runs another program and returns its output, for tests that compare with readelf, nm and others.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "tests/support/unit.h"

#define COMMAND_OUTPUT_BYTES (64 * MIB)

/*
 * Runs @command in a shell and appends its output to @out. Returns its exit status, or -1 if it
 * could not run.
 */
static inline int command_output(const char *command, struct bytes *out)
{
	char piece[4096];
	FILE *pipe = popen(command, "re");
	size_t n;
	int status;

	if (!pipe)
		return -1;
	while ((n = fread(piece, 1, sizeof(piece), pipe)) > 0)
		assert_ok(bytes_append(out, piece, n));
	status = pclose(pipe);
	assert_ok(bytes_append_byte(out, 0));
	out->size--;
	return status < 0 || !WIFEXITED(status) ? -1 : WEXITSTATUS(status);
}

static inline bool command_exists(const char *name)
{
	struct bytes out = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	char command[256];
	int status;

	(void)snprintf(command, sizeof(command), "command -v %s 2>&1", name);
	status = command_output(command, &out);
	bytes_release(&out);
	return status == 0;
}
