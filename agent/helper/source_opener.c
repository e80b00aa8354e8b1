/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper/source_opener.h"

#include <string.h>
#include <unistd.h>

#include "agent/executable/file_finder.h"

struct opening {
	struct helper_pool *pool;
	struct source_request request;
	struct finder_item item;
	struct hash128 content;
	char *path;
	int fd;    /* opened in the way that is being tried; -1: none */
	int error; /* to be returned if all ways fail: -ENOENT, or the last error of a helper */
	struct helper_message message;
};

static void try_way(struct opening *opening, uint32_t way);

static void opening_free(struct opening *opening)
{
	scoped_close(&opening->fd);
	free(opening->path);
	free(opening);
}

static void forget(void *arg)
{
	struct opening *opening = arg;

	if (opening->request.forget)
		opening->request.forget(opening->request.arg);
	opening_free(opening);
}

/* Passes @fd, a descriptor of the file or a negative errno, to the caller's callback. */
static void end(struct opening *opening, int fd, const struct parser_source *source)
{
	const struct source_request request = opening->request;

	opening_free(opening);
	request.opened(request.arg, fd, source);
}

/* Tries the next way to open the file, also if a helper failed (@error < 0) in the current way. */
static void try_next_way(struct opening *opening, int error)
{
	if (error < 0)
		opening->error = error;
	try_way(opening, opening->item.way + 1);
}

static void on_parsed(void *arg, int error, struct helper_message *answer)
{
	struct opening *opening = arg;
	struct parser_source source;
	int fd;

	if (error == 0 && parser_source_decode(answer, &source) == 1 &&
	    hash128_equal(&source.content, &opening->content)) {
		fd = opening->fd;
		opening->fd = -1;
		end(opening, fd, &source);
		return;
	}
	scoped_close(&opening->fd);
	opening->fd = -1;
	try_next_way(opening, error);
}

static int parse(struct opening *opening)
{
	const struct helper_job job = {
		.kind = HELPER_PARSER,
		.timeout_ns = PARSER_TIMEOUT_NS,
		.done = on_parsed,
		.forget = forget,
		.arg = opening,
	};
	const struct parser_request request = { .operation = PARSER_SOURCE,
						.unwind = opening->request.unwind };
	int fd = dup(opening->fd);

	if (fd < 0)
		return -errno;
	memcpy(opening->message.bytes, &request, sizeof(request));
	opening->message.size = sizeof(request);
	opening->message.fds[0] = fd;
	opening->message.n_fds = 1;
	return helper_pool_submit(opening->pool, &job, &opening->message);
}

static void on_found(void *arg, int error, struct helper_message *answer)
{
	struct opening *opening = arg;
	int r;

	if (error < 0 || answer->n_fds != 1) {
		try_next_way(opening, error);
		return;
	}
	opening->fd = answer->fds[0];
	answer->fds[0] = -1;
	r = parse(opening);
	if (r < 0)
		end(opening, r, NULL);
}

static int submit_way(struct opening *opening)
{
	const struct helper_job job = {
		.kind = HELPER_FINDER,
		.timeout_ns = FINDER_TIMEOUT_NS,
		.done = on_found,
		.forget = forget,
		.arg = opening,
	};

	finder_request_begin(&opening->message, FINDER_SOURCE);
	if (!finder_request_add(&opening->message, &opening->item, opening->path))
		return -ENOENT;
	return helper_pool_submit(opening->pool, &job, &opening->message);
}

static void try_way(struct opening *opening, uint32_t way)
{
	int r = opening->error;

	opening->item.way = way;
	if (way < EXECUTABLE_SOURCE_WAYS)
		r = submit_way(opening);
	if (r < 0)
		end(opening, r, NULL);
}

int source_open(struct helper_pool *pool, const struct executable *executable,
		const struct source_request *request)
{
	const struct executable_source source = executable_source_of(executable);
	struct opening *opening;
	int r;

	if (source.role != EXECUTABLE_VDSO && (source.role != EXECUTABLE_USER || !source.path))
		return -ENOENT;
	opening = calloc(1, sizeof(*opening));
	if (!opening)
		return -ENOMEM;
	opening->pool = pool;
	opening->request = *request;
	opening->content = executable->content;
	opening->fd = -1;
	opening->error = -ENOENT;
	opening->path = strdup(source.path ? source.path : "");
	opening->item = (struct finder_item){
		.start = source.start, .end = source.end, .pid = source.pid, .role = source.role
	};
	r = opening->path ? submit_way(opening) : -ENOMEM;
	if (r < 0)
		opening_free(opening);
	return r;
}
