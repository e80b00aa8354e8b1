/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper/jit_protocol.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static_assert(sizeof(struct jit_read_answer) + sizeof(((struct jit_codes *)0)->items) <=
		      HELPER_MESSAGE_MAX_BYTES,
	      "an answer holds the entries of a piece");
static_assert(JIT_FORMATS <= HELPER_MESSAGE_MAX_FDS, "an answer holds all files of a process");

/* ---- finder -------------------------------------------------------------------------------- */

bool jit_finder_request_make(const struct jit_source *source, struct helper_message *ret_message)
{
	size_t path_bytes = source->path ? strlen(source->path) + 1 : 0;
	const struct jit_finder_request request = {
		.operation = FINDER_JIT,
		.path_bytes = (uint32_t)path_bytes,
		.pid = source->pid,
		.parent_pid = source->parent_pid,
		.start_time_ns = source->start_time_ns,
		.start = source->start,
		.end = source->end,
		.reported = source->reported,
	};

	if (path_bytes > PATH_MAX)
		return false;
	memcpy(ret_message->bytes, &request, sizeof(request));
	if (path_bytes > 0)
		memcpy(ret_message->bytes + sizeof(request), source->path, path_bytes);
	ret_message->size = sizeof(request) + path_bytes;
	ret_message->n_fds = 0;
	return true;
}

static void add_file(struct helper_message *reply, int fd, struct jit_file_facts *facts)
{
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0) {
		if (fd >= 0)
			(void)close(fd);
		facts->is_refused = fd == -EPERM;
		return;
	}
	facts->is_open = true;
	facts->device = status.st_dev;
	facts->inode = status.st_ino;
	reply->fds[reply->n_fds++] = fd;
}

int jit_finder_answer(const struct helper_message *request, struct helper_message *reply)
{
	struct jit_finder_answer answer = {};
	struct jit_finder_request header;
	struct jit_source source;

	if (request->size < sizeof(header))
		return -EBADMSG;
	memcpy(&header, request->bytes, sizeof(header));
	source = (struct jit_source){
		.pid = header.pid,
		.parent_pid = header.parent_pid,
		.start_time_ns = header.start_time_ns,
		.start = header.start,
		.end = header.end,
		.reported = header.reported,
	};
	if (request->size != sizeof(header) + header.path_bytes ||
	    (header.path_bytes > 0 && request->bytes[request->size - 1] != '\0'))
		return -EBADMSG;
	if (header.path_bytes > 0)
		source.path = (const char *)request->bytes + sizeof(header);
	reply->n_fds = 0;
	add_file(reply, jit_open_map(&source), &answer.files[JIT_PERF_MAP]);
	if (source.path)
		add_file(reply, jit_open_dump(&source), &answer.files[JIT_DUMP]);
	memcpy(reply->bytes, &answer, sizeof(answer));
	reply->size = sizeof(answer);
	return 0;
}

bool jit_finder_answer_decode(struct helper_message *message, struct jit_finder_answer *ret_answer,
			      int *ret_fds)
{
	struct jit_finder_answer answer;
	size_t n_fds = 0;

	if (message->size != sizeof(answer))
		return false;
	memcpy(&answer, message->bytes, sizeof(answer));
	for (size_t i = 0; i < JIT_FORMATS; i++)
		n_fds += answer.files[i].is_open != 0;
	if (n_fds != message->n_fds)
		return false;
	n_fds = 0;
	for (size_t i = 0; i < JIT_FORMATS; i++) {
		ret_fds[i] = -1;
		if (!answer.files[i].is_open)
			continue;
		ret_fds[i] = message->fds[n_fds];
		message->fds[n_fds++] = -1;
	}
	*ret_answer = answer;
	return true;
}

/* ---- parser -------------------------------------------------------------------------------- */

static int answer_read(const struct helper_message *request, struct helper_message *reply)
{
	struct jit_read_answer answer = {};
	struct jit_read_request header;
	struct jit_piece piece;
	int r;

	reply->size = sizeof(answer);
	memset(reply->bytes, 0, sizeof(answer));
	if (request->size != sizeof(header) || request->n_fds != 1)
		return -EBADMSG;
	memcpy(&header, request->bytes, sizeof(header));
	if (header.format >= JIT_FORMATS)
		return -EBADMSG;
	r = jit_file_read(request->fds[0], header.format, &header.from, &piece);
	if (r < 0)
		return r;
	answer.next = piece.next;
	answer.restarted = piece.restarted;
	answer.at_end = piece.at_end;
	answer.n_codes = (uint32_t)piece.codes.count;
	memcpy(reply->bytes, &answer, sizeof(answer));
	memcpy(reply->bytes + sizeof(answer), piece.codes.items,
	       piece.codes.count * sizeof(piece.codes.items[0]));
	reply->size += piece.codes.count * sizeof(piece.codes.items[0]);
	return 0;
}

/* False: there is no room for the name. */
static bool add_name(struct helper_message *reply, struct jit_named *named,
		     const struct jit_name *name)
{
	const char *texts[] = { name->language, name->function, name->file };
	size_t at = reply->size + sizeof(*named);

	named->text_bytes = 0;
	for (size_t i = 0; named->result == 0 && i < ARRAY_SIZE(texts); i++)
		named->text_bytes += (uint32_t)strlen(texts[i]) + 1;
	if (at > sizeof(reply->bytes) || named->text_bytes > sizeof(reply->bytes) - at)
		return false;
	memcpy(reply->bytes + reply->size, named, sizeof(*named));
	for (size_t i = 0; named->result == 0 && i < ARRAY_SIZE(texts); i++) {
		memcpy(reply->bytes + at, texts[i], strlen(texts[i]) + 1);
		at += strlen(texts[i]) + 1;
	}
	reply->size = at;
	return true;
}

static int answer_names(const struct helper_message *request, struct helper_message *reply)
{
	struct jit_names_answer answer = {};
	struct jit_names_request header;

	reply->size = sizeof(answer);
	memset(reply->bytes, 0, sizeof(answer));
	if (request->size < sizeof(header) || request->n_fds != 1)
		return -EBADMSG;
	memcpy(&header, request->bytes, sizeof(header));
	if (header.format >= JIT_FORMATS || header.n_wanted > JIT_MAX_NAMES ||
	    request->size != sizeof(header) + header.n_wanted * sizeof(struct jit_wanted))
		return -EBADMSG;
	for (size_t i = 0; i < header.n_wanted; i++) {
		struct jit_named named = {};
		struct jit_wanted wanted;
		struct jit_name name = {};

		memcpy(&wanted, request->bytes + sizeof(header) + i * sizeof(wanted),
		       sizeof(wanted));
		named.result = jit_file_name(request->fds[0], header.format, wanted.offset,
					     wanted.code_offset, &name, &named.line);
		if (named.result == 0)
			named.first_line = name.first_line;
		if (!add_name(reply, &named, &name))
			break;
		answer.n_names++;
	}
	memcpy(reply->bytes, &answer, sizeof(answer));
	return 0;
}

int jit_parser_answer(const struct helper_message *request, struct helper_message *reply)
{
	uint32_t operation = 0;

	reply->n_fds = 0;
	if (request->size >= sizeof(operation))
		memcpy(&operation, request->bytes, sizeof(operation));
	return operation == PARSER_JIT_NAMES ? answer_names(request, reply)
					     : answer_read(request, reply);
}

int jit_read_answer_decode(const struct helper_message *message, struct jit_read_answer *ret_answer,
			   struct jit_codes *ret_codes)
{
	struct jit_read_answer answer;

	if (message->size < sizeof(answer))
		return -EBADMSG;
	memcpy(&answer, message->bytes, sizeof(answer));
	if (answer.header.result < 0)
		return MAX(answer.header.result, -MAX_ERRNO);
	if (answer.n_codes > JIT_MAX_CODES ||
	    answer.next.offset > JIT_FILE_MAX_BYTES + UINT32_MAX ||
	    message->size != sizeof(answer) + answer.n_codes * sizeof(struct jit_code))
		return -EBADMSG;
	ret_codes->count = answer.n_codes;
	memcpy(ret_codes->items, message->bytes + sizeof(answer),
	       answer.n_codes * sizeof(struct jit_code));
	*ret_answer = answer;
	return 0;
}

int jit_names_answer_decode(const struct helper_message *message)
{
	struct jit_names_answer answer;

	if (message->size < sizeof(answer))
		return -EBADMSG;
	memcpy(&answer, message->bytes, sizeof(answer));
	if (answer.header.result < 0)
		return MAX(answer.header.result, -MAX_ERRNO);
	return answer.n_names > JIT_MAX_NAMES ? -EBADMSG : (int)answer.n_names;
}

bool jit_names_answer_next(const struct helper_message *message, size_t *offset,
			   struct jit_named_texts *ret_name)
{
	size_t at = *offset ? *offset : sizeof(struct jit_names_answer);
	const char *texts[3] = {};
	struct jit_named named;
	size_t end;

	if (at > message->size || message->size - at < sizeof(named))
		return false;
	memcpy(&named, message->bytes + at, sizeof(named));
	at += sizeof(named);
	if (named.text_bytes > message->size - at)
		return false;
	end = at + named.text_bytes;
	for (size_t i = 0; named.result == 0 && i < ARRAY_SIZE(texts); i++) {
		size_t size = strnlen((const char *)message->bytes + at, end - at);

		if (size == end - at)
			return false;
		texts[i] = (const char *)message->bytes + at;
		at += size + 1;
	}
	*ret_name = (struct jit_named_texts){
		.result = named.result,
		.first_line = named.first_line,
		.line = named.line,
		.language = texts[0],
		.function = texts[1],
		.file = texts[2],
	};
	*offset = end;
	return true;
}
