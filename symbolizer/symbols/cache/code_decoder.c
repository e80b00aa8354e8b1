/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/cache/code_decoder.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/file.h"
#include "symbolizer/symbols/cache/symbol_cache_private.h"
#include "symbolizer/symbols/code/decode_code.h"

/* Helpers at a time. One takes a CPU for milliseconds, or for CODE_CPU_S if its file is hostile. */
#define MAX_DECODERS 4

static int read_blocks(struct symbol_cache *cache, const struct executable_id *id,
		       struct code_job *job, struct arena *arena)
{
	struct debuginfo_code *pieces = arena_alloc_array(arena, job->n_blocks, sizeof(*pieces));
	int r;

	if (!pieces)
		return -ENOMEM;
	for (size_t i = 0; i < job->n_blocks; i++) {
		pieces[i] = (struct debuginfo_code){
			.elf_addr = job->blocks[i].elf_addr,
			.size = job->blocks[i].size,
			.bytes = arena_alloc(arena, job->blocks[i].size),
		};
		if (!pieces[i].bytes)
			return -ENOMEM;
	}
	r = debuginfo_read_code(cache->compiler.debuginfo, id, pieces, job->n_blocks,
				&job->machine);
	for (size_t i = 0; i < job->n_blocks && r > 0; i++)
		job->blocks[i].bytes =
			(struct bytes_view){ .data = pieces[i].bytes, .size = pieces[i].n_bytes };
	return r;
}

static bool has_bytes(const struct code_job *job)
{
	for (size_t i = 0; i < job->n_blocks; i++)
		if (job->blocks[i].bytes.size > 0)
			return true;
	return false;
}

/* Returns a file with the request, or a negative errno. */
static int write_request(const struct code_job *job)
{
	scoped(bytes_release) struct bytes request = BYTES_INIT(MIB);
	scoped_fd int fd = memfd_create("code", MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = code_request_write(&request, job->machine, job->syntax, job->blocks, job->n_blocks);
	if (r == 0)
		r = write_all(fd, request.data, request.size);
	return r < 0 ? r : take_fd(fd);
}

static int refuse(struct code_job *job, const char *why)
{
	job->outcome = CODE_REFUSED;
	(void)snprintf(job->why, sizeof(job->why), "%s", why);
	return 0;
}

static int read_answer(const struct helper_result *result, struct code_job *job,
		       struct arena *arena)
{
	scoped(bytes_release) struct bytes answer = BYTES_INIT(CODE_ANSWER_MAX_BYTES);
	int r;

	if (result->stored_bytes > CODE_ANSWER_MAX_BYTES)
		return refuse(job, "the answer of the helper is too long");
	r = bytes_reserve(&answer, result->stored_bytes);
	if (r == 0)
		r = pread_all(result->stored_fd, answer.data, result->stored_bytes, 0);
	if (r < 0)
		return r;
	answer.size = result->stored_bytes;
	r = code_answer_read(bytes_view_of(&answer), job->blocks, job->n_blocks, arena,
			     &job->instructions, &job->n_instructions);
	return r == -EBADMSG ? refuse(job, "the answer of the helper is damaged") : r;
}

static int run_helper(struct symbol_cache *cache, struct code_job *job, struct arena *arena)
{
	struct helper_job helper = {
		.program = cache->compiler.program,
		.work = HELPER_DECODES_CODE,
		.input = { .executable_fd = -1, .alt_fd = -1, .split_fd = -1 },
		.limits = helper_limits_for_code(),
		.stop_fd = cache->compiler.stop_fd,
	};
	scoped_fd int request = write_request(job);
	struct helper_result result;
	int r;

	if (request < 0)
		return request;
	helper.input.main_fd = request;
	r = helper_run(&helper, &result);
	if (r < 0)
		return r;
	if (result.outcome == HELPER_MADE_TABLE)
		r = read_answer(&result, job, arena);
	else
		r = refuse(job, result.why);
	helper_result_release(&result);
	return r;
}

static int decode(struct symbol_cache *cache, struct code_job *job, struct arena *arena)
{
	int r;

	if (!decode_code_knows(job->machine))
		return refuse(job, "code of this machine is not decoded");
	if (atomic_fetch_add(&cache->n_decoders, 1) < MAX_DECODERS)
		r = run_helper(cache, job, arena);
	else
		r = -EBUSY;
	atomic_fetch_sub(&cache->n_decoders, 1);
	return r;
}

int code_decoder_run(struct symbol_cache *cache, const struct executable_id *id,
		     struct code_job *job, struct arena *arena)
{
	int r;

	job->outcome = CODE_DECODED;
	r = read_blocks(cache, id, job, arena);
	if (r == -EBADMSG || r == -ENOEXEC || r == -ENOTSUP || r == -ENODATA)
		return refuse(job, "the stored file is damaged, or of another kind");
	if (r < 0)
		return r;
	if (r == 0)
		job->outcome = CODE_NO_FILE;
	else if (!has_bytes(job))
		job->outcome = CODE_NO_BYTES;
	else
		r = decode(cache, job, arena);
	return MIN(r, 0);
}
