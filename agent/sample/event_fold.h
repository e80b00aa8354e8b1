/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How samples of one event type become rows. The collector has one struct event_fold for each type,
 * which the type's source fills (agent/event), and does nothing that depends on the type otherwise.
 *
 * A fold of zeros suits a type with values that add up: one row with the value of the sample, in
 * the slot of its time.
 */

#include "agent/sample/window.h"
#include "bpf/abi/sample_record.h"

struct collector;
struct process;

/* A sample with its process, series and stack. */
struct folded_sample {
	const struct abi_sample *header;
	const void *payload; /* what follows the header in the record */
	const struct process *process;
	struct window_row row; /* the value in the slot of its time */
};

struct event_fold {
	uint64_t period_ns;   /* time that one count stands for; 0: values are in the type's unit */
	bool keep_cpus_apart; /* series have the number of the CPU */
	/*
	 * process.excluded has this bit: the process is not profiled by the source; 0: no bit has
	 */
	uint32_t excluded_flag;
	/* samples of such processes count in Total, without their stack; false: they are dropped */
	bool counts_excluded;
	/*
	 * Adds the rows of a sample by collector_add_row(). 0 or -ENOMEM. NULL: adds @sample->row.
	 */
	int (*add)(void *arg, struct collector *collector, const struct folded_sample *sample);
	/*
	 * Called before the window closes: may change the values of rows that @add added; or NULL.
	 */
	void (*finish)(void *arg, struct window_row *rows);
	void *arg; /* of both functions */
};
