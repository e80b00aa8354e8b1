/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The main loop of a helper that keeps some capabilities of the agent (finder and reader). */

#include <sys/types.h>

#include "agent/helper/message.h"

struct helper_process {
	const char *name;                             /* of the process */
	uint64_t (*capabilities)(uint64_t permitted); /* the subset that the helper needs */
	/* sends the answer to one request, in the buffer @reply; negative errno ends the helper */
	int (*answer)(int socket, const struct helper_message *request,
		      struct helper_message *reply);
};

/*
 * Gives up all other capabilities, and answers requests from @socket until its other end is closed.
 * @parent: the nursery; the helper ends when the nursery does.
 */
_Noreturn void helper_process_run(const struct helper_process *process, int socket, pid_t parent);
