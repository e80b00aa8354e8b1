/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper/helper_process.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/capabilities.h"
#include "common/sandbox.h"

static int confine(const struct helper_process *process, pid_t parent)
{
	uint64_t permitted;
	int r;

	r = capabilities_permitted(&permitted);
	if (r < 0)
		return r;
	r = capabilities_limit(process->capabilities(permitted));
	if (r < 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return sandbox_end_with_parent(parent);
}

void helper_process_run(const struct helper_process *process, int socket, pid_t parent)
{
	struct helper_message request, reply;

	(void)prctl(PR_SET_NAME, process->name, 0, 0, 0);
	if (confine(process, parent) < 0)
		_exit(EXIT_FAILURE);
	while (helper_receive(socket, &request, 0) == 1) {
		helper_message_close(&request);
		if (process->answer(socket, &request, &reply) < 0)
			break;
	}
	_exit(EXIT_SUCCESS);
}
