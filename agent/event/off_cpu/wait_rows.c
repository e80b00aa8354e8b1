/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/event/off_cpu/wait_rows.h"

#include "bpf/abi/mapping.h"

/* Longest piece of a wait that one row may cover. */
#define WAIT_PIECE_NS NSEC_PER_SEC

/* A wait of hours is an error of the clock. The server accepts rows of the last hour. */
#define MAX_WAIT_PIECES 3600

/* Splits a wait into pieces, last piece first, each in the slot of its last nanosecond. */
static int add_pieces(struct skipped_waits *skipped, struct collector *collector,
		      const struct folded_sample *sample, const struct abi_wait *wait)
{
	struct wait_site_key key = { .process = sample->process->number,
				     .tid = sample->header->tid,
				     .site = wait ? wait->site : 0 };
	uint64_t left_ns = MIN(sample->header->value, MAX_WAIT_PIECES * WAIT_PIECE_NS);
	uint64_t end_ns = sample->header->time_ns;
	struct window_row row = sample->row;
	uint32_t site = 0;
	size_t index;
	int r;

	if (wait) {
		r = skipped_waits_add_time(skipped, &key, wait, &site);
		if (r < 0)
			return r;
	}
	while (left_ns > 0) {
		row.value = MIN(left_ns, WAIT_PIECE_NS);
		row.slot = (end_ns - 1) / SLOT_NS;
		r = collector_add_row(collector, &row, &index);
		if (r == 0 && wait)
			r = skipped_waits_add_row(skipped, site, wait, index, row.value);
		if (r < 0)
			return r;
		end_ns -= row.value;
		left_ns -= row.value;
	}
	return 0;
}

/*
 * Adds a row for the part of the wait in which the thread was runnable and waited for a CPU. It has
 * the stack of the wait.
 */
static int add_queued_row(struct collector *collector, const struct folded_sample *sample)
{
	struct window_row row = sample->row;
	int r;

	if (sample->header->queued_us == 0)
		return 0;
	r = collector_series(collector, sample, EVENT_RUN_QUEUE, &row.series);
	if (r < 0)
		return r;
	row.value = sample->header->queued_us * NSEC_PER_USEC;
	row.slot = (sample->header->time_ns - 1) / SLOT_NS;
	return collector_add_row(collector, &row, NULL);
}

static int add_wait(void *arg, struct collector *collector, const struct folded_sample *sample)
{
	struct wait_rows *rows = arg;
	int r;

	r = add_queued_row(collector, sample);
	if (r < 0)
		return r;
	return add_pieces(&rows->skipped, collector, sample,
			  sample->header->flags & ABI_SAMPLE_WITH_WAIT ? sample->payload : NULL);
}

static void finish(void *arg, struct window_row *window_rows)
{
	struct wait_rows *rows = arg;

	skipped_waits_distribute(&rows->skipped, window_rows);
}

int wait_rows_init(struct wait_rows *rows, struct collector *collector, bool keep_cpus_apart)
{
	int r = skipped_waits_init(&rows->skipped);

	if (r < 0)
		return r;
	*collector_fold(collector, EVENT_OFF_CPU) = (struct event_fold){
		.keep_cpus_apart = keep_cpus_apart,
		.excluded_flag = ABI_PROCESS_WITHOUT_OFF_CPU,
		.add = add_wait,
		.finish = finish,
		.arg = rows,
	};
	*collector_fold(collector, EVENT_RUN_QUEUE) = (struct event_fold){
		.keep_cpus_apart = keep_cpus_apart,
		.excluded_flag = ABI_PROCESS_WITHOUT_OFF_CPU,
	};
	return 0;
}

void wait_rows_release(struct wait_rows *rows, struct collector *collector)
{
	*collector_fold(collector, EVENT_OFF_CPU) = (struct event_fold){};
	*collector_fold(collector, EVENT_RUN_QUEUE) = (struct event_fold){};
	skipped_waits_release(&rows->skipped);
}
