/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper/finder_process.h"

#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/helper_process.h"
#include "agent/helper/jit_protocol.h"
#include "agent/helper/protocol.h"
#include "common/capabilities.h"

static struct mapped_file file_of(const struct finder_item *item, const char *path)
{
	return (struct mapped_file){
		.pid = item->pid,
		.parent_pid = item->parent_pid,
		.start = item->start,
		.end = item->end,
		.file_offset = item->file_offset,
		.path = path,
		.reported = item->reported,
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

/* Appends the answer to one item, and adds its descriptor, if there is one, to @reply. */
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

static int answer_jit(int socket, const struct helper_message *request,
		      struct helper_message *reply)
{
	int r = jit_finder_answer(request, reply);

	if (r < 0)
		return r;
	r = helper_send(socket, reply, 0);
	helper_message_close(reply);
	return r;
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
	if (header.operation == FINDER_JIT)
		return answer_jit(socket, request, reply);
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
	/* Each row: the capability needed, and a broader one that the kernel accepts instead. */
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

void finder_process_run(int socket, pid_t parent)
{
	static const struct helper_process finder = {
		.name = "hearth-finder",
		.capabilities = finder_process_capabilities,
		.answer = answer_request,
	};

	helper_process_run(&finder, socket, parent);
}
