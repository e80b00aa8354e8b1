/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper/upload_opener.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/helper/avoid_list.h"
#include "agent/helper/source_opener.h"

/*
 * Reading headers and section names of a file takes milliseconds from memory, and some seconds from
 * a busy disk.
 */
#define TIMEOUT_NS (5 * NSEC_PER_SEC)

struct failed_file {
	struct hash128 content; /* of the executable */
	uint64_t what;
};

static const struct avoid_list_options failed_files = {
	.key_size = sizeof(struct failed_file),
	.max_keys = 1024,
	.first_ns = 10 * NSEC_PER_SEC,
	.max_ns = 3600 * NSEC_PER_SEC,
};

struct upload_opener {
	struct helper_pool *pool;
	const struct clock *clock;
	struct avoid_list *avoided; /* by struct failed_file */
	uint64_t n_failed;
	struct helper_message message;
};

struct opening {
	struct upload_opener *opener;
	struct upload_request request;
	struct failed_file key;
	int fd, pieces_fd; /* -1: none */
};

int upload_opener_new(struct helper_pool *pool, const struct clock *clock,
		      struct upload_opener **ret_opener)
{
	scoped(upload_opener_freep) struct upload_opener *opener = calloc(1, sizeof(*opener));
	int r;

	if (!opener)
		return -ENOMEM;
	opener->pool = pool;
	opener->clock = clock;
	r = avoid_list_new(&failed_files, &opener->avoided);
	if (r < 0)
		return r;
	*ret_opener = take_ptr(opener);
	return 0;
}

struct upload_opener *upload_opener_free(struct upload_opener *opener)
{
	if (!opener)
		return NULL;
	(void)avoid_list_free(opener->avoided);
	free(opener);
	return NULL;
}

uint64_t upload_opener_failed(const struct upload_opener *opener)
{
	return opener->n_failed;
}

uint64_t upload_opener_retry_at_ns(const struct upload_opener *opener,
				   const struct executable *executable, uint32_t what)
{
	const struct failed_file key = { .content = executable->content, .what = what };

	return avoid_list_until_ns(opener->avoided, &key);
}

static void opening_free(struct opening *opening)
{
	scoped_close(&opening->fd);
	scoped_close(&opening->pieces_fd);
	free(opening);
}

static void forget(void *arg)
{
	struct opening *opening = arg;

	if (opening->request.forget)
		opening->request.forget(opening->request.arg);
	opening_free(opening);
}

/* Ends an opening. If @result is 0, passes the descriptors to the callback. */
static void end(struct opening *opening, int result)
{
	const struct upload_request request = opening->request;
	struct upload_opener *opener = opening->opener;
	int fd = -1, pieces_fd = -1;

	if (result == 0) {
		fd = opening->fd;
		pieces_fd = opening->pieces_fd;
		opening->fd = -1;
		opening->pieces_fd = -1;
		avoid_list_forgive(opener->avoided, &opening->key);
	} else {
		opener->n_failed++;
		avoid_list_add_failure(opener->avoided, &opening->key,
				       clock_monotonic_ns(opener->clock));
	}
	opening_free(opening);
	request.opened(request.arg, result, fd, pieces_fd);
}

static void on_extracted(void *arg, int error, struct helper_message *answer)
{
	struct opening *opening = arg;

	end(opening, error < 0 ? error : parser_extract_decode(answer));
}

/*
 * The helper is a compiler, because a compiler gets one file and is killed afterwards, so it cannot
 * write to the pieced file later.
 */
static int submit_extract(struct opening *opening)
{
	const struct helper_job job = {
		.kind = HELPER_COMPILER,
		.timeout_ns = TIMEOUT_NS,
		.done = on_extracted,
		.forget = forget,
		.arg = opening,
	};
	const struct parser_request request = { .operation = PARSER_EXTRACT,
						.what = opening->request.what };
	struct helper_message *message = &opening->opener->message;

	opening->pieces_fd = memfd_create("hearth-extract", MFD_CLOEXEC);
	if (opening->pieces_fd < 0)
		return -errno;
	memcpy(message->bytes, &request, sizeof(request));
	message->size = sizeof(request);
	message->n_fds = 2;
	message->fds[0] = dup(opening->fd);
	message->fds[1] = dup(opening->pieces_fd);
	if (message->fds[0] < 0 || message->fds[1] < 0) {
		helper_message_close(message);
		return -EMFILE;
	}
	return helper_pool_submit(opening->opener->pool, &job, message);
}

static void on_source(void *arg, int fd, const struct parser_source *source)
{
	struct opening *opening = arg;
	int r = fd;

	(void)source;
	if (fd >= 0) {
		opening->fd = fd;
		r = submit_extract(opening);
	}
	if (r < 0)
		end(opening, r);
}

int upload_opener_open(struct upload_opener *opener, const struct executable *executable,
		       const struct upload_request *request)
{
	const struct failed_file key = { .content = executable->content, .what = request->what };
	struct opening *opening;
	int r;

	if (avoid_list_has(opener->avoided, &key, clock_monotonic_ns(opener->clock))) {
		opener->n_failed++;
		return -EAGAIN;
	}
	opening = malloc(sizeof(*opening));
	if (!opening)
		return -ENOMEM;
	*opening = (struct opening){
		.opener = opener, .request = *request, .key = key, .fd = -1, .pieces_fd = -1
	};
	r = source_open(
		opener->pool, executable,
		&(struct source_request){ .opened = on_source, .forget = forget, .arg = opening });
	if (r < 0)
		opening_free(opening);
	return r;
}
