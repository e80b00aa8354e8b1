/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/cache/table_compiler.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/log.h"
#include "common/sandbox.h"
#include "symbolizer/symbols/cache/compile_inputs.h"
#include "symbolizer/symbols/table/symbol_file.h"
#include "symbolizer/symbols/table/symbol_layout.h"
#include "symbolizer/symbols/table/symbol_pack.h"

/*
 * Delay before a table is compiled again after its helper died; each further death doubles it. The
 * table is tried again, because the helper may have died of a lack of memory that other programs
 * caused. The delay bounds the processor time spent on a file that kills every helper.
 */
#define FIRST_RETRY_NS  (3600 * NSEC_PER_SEC)
#define MAX_RETRY_SHIFT 5

/*
 * The limit of a flat table is FLAT_BASE_BYTES + FLAT_PER_INPUT_BYTES times the size of the files
 * that it is compiled from. The flat table of ceph-osd has a tenth of the size of its files; if the
 * sections of the files are compressed, a flat table can have half of their size.
 */
#define FLAT_BASE_BYTES      (64 * MIB)
#define FLAT_PER_INPUT_BYTES 4

uint64_t table_retry_wall_ns(const struct stored_table *row)
{
	if (row->outcome != HELPER_DIED || row->n_deaths == 0)
		return UINT64_MAX;
	return row->tried_wall_ns +
	       (FIRST_RETRY_NS << MIN(row->n_deaths - 1, (uint32_t)MAX_RETRY_SHIFT));
}

static void log_lack_once(struct table_compiler *compiler, unsigned int lacks)
{
	if (lacks == 0 || atomic_exchange(&compiler->lack_was_logged, true))
		return;
	log_warn("this kernel has no %s: symbol tables are compiled in a weaker sandbox%s",
		 lacks == SANDBOX_LANDLOCK  ? "Landlock"
		 : lacks == SANDBOX_SECCOMP ? "seccomp"
					    : "Landlock and no seccomp",
		 lacks == SANDBOX_LANDLOCK ? "" : ", upload only files that you trust");
}

/* Expands and checks the helper's output, which is trusted no more than the files. */
static int expand(const struct helper_result *result, struct bytes_view *stored,
		  struct bytes *ret_flat)
{
	scoped(symbol_file_freep) struct symbol_file *file = NULL;
	int r;

	stored->data =
		mmap(NULL, result->stored_bytes, PROT_READ, MAP_PRIVATE, result->stored_fd, 0);
	if (stored->data == MAP_FAILED) {
		stored->data = NULL;
		return result->stored_bytes == 0 ? -EBADMSG : -errno;
	}
	stored->size = result->stored_bytes;
	r = symbol_unpack(*stored, ret_flat);
	return r < 0 ? r : symbol_file_open_memory(bytes_view_of(ret_flat), &file);
}

static void refuse(struct stored_table *row, const char *why)
{
	row->outcome = HELPER_REFUSED;
	(void)snprintf(row->why, sizeof(row->why), "%s", why);
}

/* Stores a table. An error is only logged, because the table can be compiled again. */
static void put(struct table_compiler *compiler, const struct executable_id *id,
		struct stored_table *row, struct bytes_view stored)
{
	char id_text[EXECUTABLE_ID_TEXT_SIZE];
	int r;

	executable_id_format(id, id_text);
	r = table_database_put(compiler->database, id, row, stored);
	if (r < 0)
		log_warn_errno(r,
			       "cannot store the symbol table of '%s', it will be made again after "
			       "a restart: %m",
			       id_text);
	if (row->why[0])
		log_warn("the symbol table of '%s' was made without a part of the debuginfo: %s",
			 id_text, row->why);
}

static int take_table(struct table_compiler *compiler, const struct executable_id *id,
		      const struct helper_result *result, struct compiled_table *made)
{
	struct bytes_view stored = {};
	int r = expand(result, &stored, &made->flat);

	if (r == -EBADMSG || r == -ESTALE || r == -EFBIG) {
		refuse(&made->row, r == -EFBIG ? "the table is too large" : "the table is damaged");
		r = 0;
	} else if (r == 0) {
		made->row.symbol_sources = result->report.sources;
		made->row.n_functions = result->report.n_functions;
		made->row.n_locations = result->report.n_locations;
		put(compiler, id, &made->row, stored);
	}
	if (stored.data)
		(void)munmap((void *)stored.data, stored.size);
	return r;
}

static void put_failure(struct table_compiler *compiler, const struct executable_id *id,
			struct stored_table *row)
{
	char id_text[EXECUTABLE_ID_TEXT_SIZE];
	int r;

	executable_id_format(id, id_text);
	log_warn("cannot make the symbol table of '%s', %s: %s", id_text,
		 row->stored_bytes > 0 ? "the older one stays" : "its frames stay without names",
		 row->why);
	r = table_database_put_failure(compiler->database, id, row);
	if (r < 0)
		log_warn_errno(r,
			       "cannot store the failure to make the symbol table of '%s', it will "
			       "be tried again: %m",
			       id_text);
}

static int judge(struct table_compiler *compiler, const struct executable_id *id,
		 const struct helper_result *result, struct compiled_table *made)
{
	struct stored_table *row = &made->row;
	int r = 0;

	log_lack_once(compiler, result->lacks);
	row->outcome = result->outcome;
	(void)snprintf(row->why, sizeof(row->why), "%s", result->why);
	if (row->outcome == HELPER_MADE_TABLE)
		r = take_table(compiler, id, result, made);
	if (r < 0)
		return r;
	if (row->outcome == HELPER_DIED)
		row->n_deaths++;
	else
		row->n_deaths = 0;
	if (row->outcome != HELPER_MADE_TABLE)
		put_failure(compiler, id, row);
	atomic_fetch_add(row->outcome == HELPER_MADE_TABLE ? &compiler->n_made
			 : row->outcome == HELPER_REFUSED  ? &compiler->n_refused
							   : &compiler->n_died,
			 1);
	return 1;
}

static int run(struct table_compiler *compiler, const struct executable_id *id,
	       const struct compile_inputs *inputs, struct compiled_table *made)
{
	const struct helper_job job = {
		.program = compiler->program,
		.input = inputs->fds,
		.limits = helper_limits_for(inputs->size_bytes),
		.stop_fd = compiler->stop_fd,
	};
	struct helper_result result;
	int r;

	made->flat = BYTES_INIT(MIN(TABLE_FLAT_MAX_BYTES,
				    FLAT_BASE_BYTES + FLAT_PER_INPUT_BYTES * inputs->size_bytes));
	r = helper_run(&job, &result);
	if (r < 0)
		return r;
	r = judge(compiler, id, &result, made);
	helper_result_release(&result);
	return r;
}

int table_compile(struct table_compiler *compiler, const struct executable_id *id,
		  const struct stored_table *before, struct compiled_table *ret_made)
{
	struct compile_inputs inputs;
	int r;

	*ret_made = (struct compiled_table){ .row = *before };
	r = compile_inputs_open(compiler->debuginfo, id, &inputs);
	if (r > 0) {
		struct stored_table *row = &ret_made->row;

		if (!input_hashes_equal(&row->inputs, &inputs.hashes) ||
		    row->layout_version != SYMBOL_LAYOUT_VERSION)
			row->n_deaths = 0;
		row->inputs = inputs.hashes;
		row->alt_id = inputs.alt_id;
		row->layout_version = SYMBOL_LAYOUT_VERSION;
		row->tried_wall_ns = clock_wall_ns(compiler->clock);
		r = run(compiler, id, &inputs, ret_made);
	}
	compile_inputs_release(&inputs);
	if (r <= 0 || ret_made->row.outcome != HELPER_MADE_TABLE)
		bytes_release(&ret_made->flat);
	return r;
}
