/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper/finder_process.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/helper/protocol.h"
#include "common/capabilities.h"
#include "common/sandbox.h"

static struct mapped_file file_of(const struct finder_item *item, const char *path)
{
	return (struct mapped_file){
		.pid = item->pid,
		.parent_pid = item->parent_pid,
		.start = item->start,
		.end = item->end,
		.file_offset = item->file_offset,
		.path = path,
		.told = item->told,
		.is_copy = item->is_copy,
	};
}

static int open_source(const struct finder_item *item, const char *path)
{
	const struct executable_source source = {
		.role = item->role,
		.pid = item->pid,
		.start = item->start,
		.end = item->end,
		.path = path,
	};

	return file_finder_open_source(&source, item->way);
}

/* Appends the answer to one item, and puts its descriptor, if there is one, into @reply. */
static void look(uint32_t operation, const struct finder_item *item, const char *path,
		 struct finder_answer *answer, struct helper_message *reply)
{
	struct mapped_file file = file_of(item, path);
	struct file_facts facts = {};
	int fd = -1;
	bool is_found;

	if (operation == FINDER_LOOK) {
		is_found = file_finder_look(&file, &facts) == 1;
	} else {
		fd = operation == FINDER_OPEN ? file_finder_open(&file, &facts)
					      : open_source(item, path);
		is_found = fd >= 0;
	}
	answer->items[answer->n_items].is_found = is_found;
	answer->items[answer->n_items++].facts = facts;
	if (fd < 0)
		return;
	if (reply->n_fds == 0)
		reply->fds[reply->n_fds++] = fd;
	else
		(void)close(fd);
}

static int answer_request(int socket, const struct helper_message *request,
			  struct helper_message *reply)
{
	struct finder_answer answer = {};
	struct finder_request header;
	struct finder_item item;
	const char *path;
	size_t offset = 0;
	int r;

	if (request->size < sizeof(header))
		return -EBADMSG;
	memcpy(&header, request->bytes, sizeof(header));
	reply->n_fds = 0;
	while (answer.n_items < MIN(header.n_items, (uint32_t)FINDER_MAX_ITEMS) &&
	       finder_request_next(request, &offset, &item, &path))
		look(header.operation, &item, path, &answer, reply);
	memcpy(reply->bytes, &answer, sizeof(answer));
	reply->size = sizeof(answer);
	r = helper_send(socket, reply, 0);
	helper_message_close(reply);
	return r;
}

uint64_t finder_process_capabilities(uint64_t permitted)
{
	/* The narrow capability, and the broader one that the kernel accepts instead. */
	static const unsigned int needed[][2] = {
		{ CAP_SYS_PTRACE, CAP_SYS_PTRACE },
		{ CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE },
		{ CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN },
	};
	uint64_t keep = 0;

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		keep |= permitted & CAPABILITY_BIT(needed[i][0])
				? CAPABILITY_BIT(needed[i][0])
				: permitted & CAPABILITY_BIT(needed[i][1]);
	return keep;
}

static int confine(pid_t parent)
{
	uint64_t permitted;
	int r;

	r = capabilities_permitted(&permitted);
	if (r == 0)
		r = capabilities_limit(finder_process_capabilities(permitted));
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = -errno;
	return r < 0 ? r : sandbox_end_with_parent(parent);
}

void finder_process_run(int socket, pid_t parent)
{
	struct helper_message request, reply;

	(void)prctl(PR_SET_NAME, "hearth-finder", 0, 0, 0);
	if (confine(parent) < 0)
		_exit(EXIT_FAILURE);
	while (helper_receive(socket, &request, 0) == 1) {
		helper_message_close(&request);
		if (answer_request(socket, &request, &reply) < 0)
			break;
	}
	_exit(EXIT_SUCCESS);
}
