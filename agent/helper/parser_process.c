/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper/parser_process.h"

#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "agent/executable/elf_extract.h"
#include "agent/helper/jit_protocol.h"
#include "agent/helper/protocol.h"
#include "agent/interpreter/hotspot/find_hotspot.h"
#include "agent/interpreter/lua/find_lua.h"
#include "agent/interpreter/perl/find_perl.h"
#include "agent/interpreter/php/find_php.h"
#include "agent/interpreter/python/find_python.h"
#include "agent/interpreter/ruby/find_ruby.h"
#include "agent/interpreter/v8/find_v8.h"
#include "common/sandbox.h"

/* Enough for ELF headers and section names of 16 MiB each, and for the results of parsing. */
#define ADDRESS_SPACE_BYTES (512 * MIB)

/* Maximum size of an unwind table file: UNWIND_MAX_ROWS rows of at most 4.4 bytes each. */
#define WRITTEN_BYTES (256 * MIB)

static struct parser_answer answer_of(int result)
{
	struct timespec used = {};

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (struct parser_answer){
		.result = result,
		.cpu_ns = (uint64_t)used.tv_sec * NSEC_PER_SEC + (uint64_t)used.tv_nsec,
	};
}

/* A file whose interpreter cannot be read is identified nevertheless. */
static void find_interpreter(int fd, struct interpreter_facts *facts)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;

	if (elf_file_open(fd, &elf) == 0 && find_python(elf, facts) <= 0 &&
	    find_hotspot(elf, facts) <= 0 && find_v8(elf, facts) <= 0 &&
	    find_php(elf, facts) <= 0 && find_perl(elf, facts) <= 0 && find_lua(elf, facts) <= 0)
		(void)find_ruby(elf, facts);
}

static void identify(int fd, struct parser_identity *answer)
{
	scoped(file_identity_release) struct file_identity identity = {};
	int r = file_identity_read(fd, &identity);

	if (r == 1) {
		answer->id = identity.id;
		answer->content = identity.content;
		answer->n_segments = (uint32_t)identity.n_segments;
		memcpy(answer->segments, identity.segments,
		       identity.n_segments * sizeof(*identity.segments));
		find_interpreter(fd, &answer->interpreter);
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

static int answer_identity(int socket, int fd, bool of_text, struct helper_message *reply)
{
	struct parser_identity answer = {};

	if (of_text)
		answer.header = answer_of(file_text_identity_read(fd, &answer.id));
	else
		identify(fd, &answer);
	return send_bytes(socket, reply, &answer, sizeof(answer));
}

static int answer_source(int socket, int fd, const struct unwind_options *options,
			 struct helper_message *reply)
{
	scoped(file_identity_release) struct file_identity identity = {};
	struct parser_source answer = {};
	int r = file_identity_read(fd, &identity);

	answer.content = identity.content;
	answer.key_result = r == 1 ? table_make_key(fd, options, &answer.key) : 0;
	answer.header = answer_of(r);
	return send_bytes(socket, reply, &answer, sizeof(answer));
}

static int answer_table(int socket, const struct helper_message *message,
			const struct parser_request *request, struct helper_message *reply)
{
	struct parser_table answer = {};
	struct table_made made;

	if (message->n_fds != 2)
		return -EBADMSG;
	answer.cpu_ns = answer_of(0).cpu_ns;
	answer.header = answer_of(table_make(message->fds[0], &request->unwind, &request->key,
					     message->fds[1], &made));
	answer.cpu_ns = answer.header.cpu_ns - answer.cpu_ns;
	return send_bytes(socket, reply, &answer, sizeof(answer));
}

static int answer_extract(int socket, const struct helper_message *message, uint32_t what,
			  struct helper_message *reply)
{
	struct parser_answer answer;

	if (message->n_fds != 2)
		return -EBADMSG;
	answer = answer_of(elf_extract_write(message->fds[0], what, message->fds[1]));
	return send_bytes(socket, reply, &answer, sizeof(answer));
}

static int answer_jit(int socket, const struct helper_message *message,
		      struct helper_message *reply)
{
	const struct parser_answer header = answer_of(jit_parser_answer(message, reply));

	memcpy(reply->bytes, &header, sizeof(header));
	return helper_send(socket, reply, 0);
}

static int serve(int socket, const struct helper_message *message, struct helper_message *reply)
{
	struct parser_request request;
	uint32_t operation = 0;

	if (message->size >= sizeof(operation))
		memcpy(&operation, message->bytes, sizeof(operation));
	if (operation == PARSER_JIT_READ || operation == PARSER_JIT_NAMES)
		return answer_jit(socket, message, reply);
	if (message->size != sizeof(request) || message->n_fds == 0)
		return -EBADMSG;
	memcpy(&request, message->bytes, sizeof(request));
	switch (request.operation) {
	case PARSER_IDENTIFY:
		return answer_identity(socket, message->fds[0], false, reply);
	case PARSER_TEXT:
		return answer_identity(socket, message->fds[0], true, reply);
	case PARSER_SOURCE:
		return answer_source(socket, message->fds[0], &request.unwind, reply);
	case PARSER_TABLE:
		return answer_table(socket, message, &request, reply);
	case PARSER_EXTRACT:
		return answer_extract(socket, message, request.what, reply);
	default:
		return -EBADMSG;
	}
}

const struct parser_limits parser_limits = {
	.address_space_bytes = ADDRESS_SPACE_BYTES,
	.written_bytes = WRITTEN_BYTES,
	.cpu_s = PARSER_CPU_S,
};

static int confine(int socket, pid_t parent, const struct parser_limits *limits)
{
	const struct sandbox_rules rules = {
		.out_fd = socket,
		.serves = true,
		.address_space_bytes = limits->address_space_bytes,
		.written_bytes = limits->written_bytes,
		.cpu_s = limits->cpu_s,
	};
	int r;

	/*
	 * The order matters: another user cannot write oom_score_adj of this process, and a change
	 * of user resets PR_SET_PDEATHSIG.
	 */
	sandbox_yield_to_others();
	r = sandbox_drop_user();
	if (r < 0)
		return r;
	r = sandbox_end_with_parent(parent);
	if (r < 0)
		return r;
	(void)mallopt(M_ARENA_MAX, 1);
	return sandbox_enter(&rules);
}

void parser_process_run(int socket, pid_t parent, const char *name,
			const struct parser_limits *limits)
{
	struct helper_message message, reply;
	int r = 0;

	(void)prctl(PR_SET_NAME, name, 0, 0, 0);
	if (confine(socket, parent, limits) < 0)
		_exit(EXIT_FAILURE);
	while (r == 0 && helper_receive(socket, &message, 0) == 1) {
		r = serve(socket, &message, &reply);
		helper_message_close(&message);
	}
	_exit(EXIT_SUCCESS);
}
