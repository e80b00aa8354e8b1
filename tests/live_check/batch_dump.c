/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Prints the on-CPU stacks of the batches in an agent's spool, and deletes the batches.
 *
 *   batch_dump FOLDER FROM_NS TO_NS
 *
 * FOLDER is the spool, in which the agent keeps batches until a server accepts them. Samples with
 * slots outside [FROM_NS, TO_NS), in nanoseconds since 1970, are not printed.
 *
 * Prints one record per line, with fields separated by tabs. The numbers of executables and
 * processes are valid until the next "batch" record.
 *
 *   batch       SEQUENCE
 *   executable  NUMBER IDENTITY NAME
 *   process     NUMBER PID PARENT_PID NAME
 *   path        PROCESS_NUMBER EXECUTABLE_NUMBER PATH
 *   stack       COUNT CUT PROCESS_NUMBER FRAME...
 *   counter     NAME VALUE
 *
 * COUNT is a number of samples. CUT is the name of an enum stack_cut (common/frame.h), or
 * "no-stack". Frames are leaf first. FRAME is KIND:EXECUTABLE_NUMBER:HEX_ADDRESS, in which KIND is
 * a number of enum frame_kind, and EXECUTABLE_NUMBER is 0 for an address in no executable.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/upload/spool.h"
#include "common/scoped.h"
#include "symbolizer/ingest/batch_decoder.h"

/* Above the size of any agent's spool, so that no batch is removed to limit the size. */
#define SPOOL_MAX_BYTES (1024 * GIB)

/* The samples of one stack in one process. */
struct use {
	uint32_t process;
	uint32_t stack;
	uint64_t count;
};

/* Wall clock. */
struct span {
	uint64_t from_ns;
	uint64_t to_ns; /* exclusive */
};

static int compare_uses(const void *left, const void *right)
{
	const struct use *a = left;
	const struct use *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static int compare_stacks(const void *left, const void *right)
{
	const struct batch_stack *a = left;
	const struct batch_stack *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

static const struct batch_series *find_series(const struct batch *batch, uint32_t number)
{
	for (uint32_t i = 0; i < batch->n_series; i++)
		if (batch->series[i].number == number)
			return &batch->series[i];
	return NULL;
}

/*
 * Copies the rows with event type on-cpu and a slot in @span to @uses. -EBADMSG: the batch does not
 * define the series of a row.
 */
static int collect_uses(const struct batch *batch, const struct span *span, struct use *uses,
			size_t *ret_n)
{
	const struct batch_series *series = NULL;
	size_t n = 0;

	for (uint32_t i = 0; i < batch->n_rows; i++) {
		const struct batch_row *row = &batch->rows[i];
		uint64_t time_ns = row->slot * SLOT_NS;

		if (!series || series->number != row->series)
			series = find_series(batch, row->series);
		if (!series)
			return -EBADMSG;
		if (series->type != EVENT_ON_CPU || time_ns < span->from_ns ||
		    time_ns >= span->to_ns)
			continue;
		uses[n++] = (struct use){ series->process, row->stack, row->value };
	}
	*ret_n = n;
	return 0;
}

/*
 * Merges uses of the same process and stack, and adds their counts. Returns the number of uses
 * left.
 */
static size_t merge_uses(struct use *uses, size_t n)
{
	size_t kept = 0;

	qsort(uses, n, sizeof(*uses), compare_uses);
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && compare_uses(&uses[kept - 1], &uses[i]) == 0)
			uses[kept - 1].count += uses[i].count;
		else
			uses[kept++] = uses[i];
	}
	return kept;
}

static int print_use(const struct batch *batch, const struct use *use)
{
	const struct batch_stack key = { .number = use->stack };
	const struct batch_stack *stack =
		bsearch(&key, batch->stacks, batch->n_stacks, sizeof(key), compare_stacks);

	if (use->stack != 0 && !stack)
		return -EBADMSG;
	printf("stack\t%" PRIu64 "\t%s\t%" PRIu32, use->count,
	       stack ? stack_cut_name(stack->cut) : "no-stack", use->process);
	for (uint32_t i = 0; stack && i < stack->n_frames; i++)
		printf("\t%u:%" PRIu32 ":%" PRIx64, stack->frames[i].kind, stack->frames[i].object,
		       stack->frames[i].address);
	printf("\n");
	return 0;
}

static void print_definitions(const struct batch *batch)
{
	char identity[EXECUTABLE_ID_TEXT_SIZE];

	printf("batch\t%" PRIu64 "\n", batch->sequence);
	for (uint32_t i = 0; i < batch->n_executables; i++) {
		const struct batch_executable *executable = &batch->executables[i];

		executable_id_format(&executable->id, identity);
		printf("executable\t%" PRIu32 "\t%s\t%s\n", executable->number, identity,
		       executable->name);
	}
	for (uint32_t i = 0; i < batch->n_processes; i++) {
		const struct batch_process *process = &batch->processes[i];

		printf("process\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%s\n", process->number,
		       process->pid, process->parent_pid, process->name);
		for (uint32_t k = 0; k < process->n_paths; k++)
			printf("path\t%" PRIu32 "\t%" PRIu32 "\t%s\n", process->number,
			       process->paths[k].executable, process->paths[k].path);
	}
	for (uint32_t i = 0; i < batch->n_counters; i++)
		printf("counter\t%s\t%" PRIu64 "\n", batch->counters[i].name,
		       batch->counters[i].value);
}

static int print_batch(struct batch *batch, const struct span *span)
{
	scoped_free struct use *uses = calloc((size_t)batch->n_rows + 1, sizeof(*uses));
	size_t n;
	int r;

	if (!uses)
		return -ENOMEM;
	r = collect_uses(batch, span, uses, &n);
	if (r < 0)
		return r;
	n = merge_uses(uses, n);
	print_definitions(batch);
	qsort(batch->stacks, batch->n_stacks, sizeof(*batch->stacks), compare_stacks);
	for (size_t i = 0; i < n && r == 0; i++)
		r = print_use(batch, &uses[i]);
	return r;
}

static int dump_spool(const char *folder, const struct span *span)
{
	const struct spool_options options = { .folder = folder, .max_bytes = SPOOL_MAX_BYTES };
	scoped(spool_closep) struct spool *spool = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	scoped(bytes_release) struct bytes content = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES);
	struct spool_key key;
	int r;

	r = arena_new(BATCH_MAX_DECODED_BYTES, &arena);
	if (r == 0)
		r = spool_open(&options, &spool);
	while (r >= 0 && (r = spool_first(spool, &key, &content)) > 0) {
		char message[DECODE_MESSAGE_SIZE] = "";
		struct batch batch;

		r = batch_decode(bytes_view_of(&content), arena, &batch, message);
		if (r == 0)
			r = print_batch(&batch, span);
		if (r < 0)
			fprintf(stderr, "batch %" PRIu64 ": %s %s\n", key.sequence, strerror(-r),
				message);
		spool_remove_first(spool);
		bytes_clear(&content);
		arena_clear(arena);
	}
	return r;
}

int main(int argc, char **argv)
{
	struct span span;
	int r;

	if (argc != 4) {
		fprintf(stderr, "usage: batch_dump FOLDER FROM_NS TO_NS\n");
		return 2;
	}
	span = (struct span){ strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10) };
	r = dump_spool(argv[1], &span);
	if (r < 0) {
		fprintf(stderr, "cannot read '%s': %s\n", argv[1], strerror(-r));
		return 1;
	}
	return 0;
}
