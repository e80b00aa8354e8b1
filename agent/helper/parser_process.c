/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper/parser_process.h"

#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "agent/helper/protocol.h"
#include "common/sandbox.h"

/* Headers of 16 MiB, section names of 16 MiB, and what is calculated from them. */
#define ADDRESS_SPACE_BYTES (512 * MIB)

/* Nothing is written but to the socket. */
#define WRITTEN_BYTES (64 * KIB)

static struct parser_answer answer_of(int result)
{
	struct timespec used = {};

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (struct parser_answer){
		.result = result,
		.cpu_ms = (uint32_t)((uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / NSEC_PER_MSEC),
	};
}

static void identify(int fd, struct parser_identity *answer)
{
	scoped(file_identity_release) struct file_identity identity = {};
	int r = file_identity_read(fd, &identity);

	if (r == 1) {
		answer->id = identity.id;
		answer->content = identity.content;
		answer->n_segments = (uint32_t)identity.n_segments;
		memcpy(answer->segments, identity.segments, identity.n_segments * sizeof(*identity.segments));
	}
	answer->header = answer_of(r);
}

static int send_bytes(int socket, struct helper_message *reply, const void *bytes, size_t size)
{
	memcpy(reply->bytes, bytes, size);
	reply->size = size;
	reply->n_fds = 0;
	return helper_send(socket, reply, 0);
}

static int serve(int socket, const struct helper_message *message, struct helper_message *reply)
{
	struct parser_identity answer = {};
	struct parser_request request;

	if (message->size != sizeof(request) || message->n_fds == 0)
		return -EBADMSG;
	memcpy(&request, message->bytes, sizeof(request));
	if (request.operation == PARSER_IDENTIFY)
		identify(message->fds[0], &answer);
	else
		answer.header = answer_of(file_text_identity_read(message->fds[0], &answer.id));
	return send_bytes(socket, reply, &answer, sizeof(answer));
}

static int confine(int socket, pid_t parent)
{
	const struct sandbox_rules rules = {
		.out_fd = socket,
		.serves = true,
		.address_space_bytes = ADDRESS_SPACE_BYTES,
		.written_bytes = WRITTEN_BYTES,
		.cpu_s = PARSER_CPU_S,
	};
	int r;

	/* In this order: another user may not say how much it minds to be killed; another user's parent is not told. */
	sandbox_yield_to_others();
	r = sandbox_drop_user();
	if (r == 0)
		r = sandbox_end_with_parent(parent);
	if (r < 0)
		return r;
	(void)mallopt(M_ARENA_MAX, 1);
	return sandbox_enter(&rules);
}

void parser_process_run(int socket, pid_t parent)
{
	struct helper_message message, reply;
	int r = 0;

	(void)prctl(PR_SET_NAME, "hearth-parser", 0, 0, 0);
	if (confine(socket, parent) < 0)
		_exit(EXIT_FAILURE);
	while (r == 0 && helper_receive(socket, &message, 0) == 1) {
		r = serve(socket, &message, &reply);
		helper_message_close(&message);
	}
	_exit(EXIT_SUCCESS);
}
