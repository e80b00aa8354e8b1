/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Collects the samples of one aggregation window, the open window. Converts them to rows
 * {series, stack, slot} -> value. Assigns a number to every process, stack and executable; batches
 * contain these numbers. collector_close() returns the content as a struct window for the encoder.
 * Used by the agent's main thread.
 */

#include "agent/process/process_table.h"
#include "agent/sample/definitions.h"
#include "agent/sample/event_fold.h"
#include "agent/sample/frame_resolver.h"
#include "agent/sample/window.h"
#include "bpf/abi/sample_record.h"

struct collector;

struct collector_options {
	struct process_table *processes;
	struct executable_cache *executables;
	struct string_table *strings;
	struct frame_resolver *frames;
};

struct collector_stats {
	uint64_t samples; /* added to windows */
	uint64_t rows;
	/* samples without frames whose stack hash is not known: counted without a stack */
	uint64_t stacks_lost;
	/* execs without an event, detected by the exec count in samples */
	uint64_t execs_missed;
	uint64_t stacks_dropped; /* samples counted without a stack because memory ran out */
	/* recently used numbers of stacks and series, removed because a table was full */
	uint64_t numbers_evicted;
};

int collector_new(const struct collector_options *options, struct collector **ret_collector);
struct collector *collector_free(struct collector *collector);

/* Names code without an executable from now on. @namer is copied. */
struct code_namer;
void collector_set_code_namer(struct collector *collector, const struct code_namer *namer);

/*
 * Finds the process of a sample without adding the sample or reading files of the process. 0 or
 * -ENOMEM.
 */
int collector_image(struct collector *collector, const struct abi_sample *sample,
		    struct process **ret_process);

/*
 * Finds the process of a sample and marks it as used in this window, with the labels that it had
 * when it was first seen. The result is the image at the time of the sample if all earlier events
 * were applied. 0 or -ENOMEM.
 */
int collector_process(struct collector *collector, const struct abi_sample *sample,
		      struct process **ret_process);

/*
 * Adds a sample as the fold of its event type says. A sample with ABI_SAMPLE_DEFINITION only adds
 * its stack. With ABI_SAMPLE_WITH_WAIT, @frames points to a struct abi_wait instead of frames. If
 * there is no memory for the stack, the sample is counted without it. 0 or -ENOMEM.
 */
int collector_add(struct collector *collector, const struct abi_sample *sample,
		  const struct abi_frame *frames);

/* Whether the stack with this hash is known, so that a sample without frames can be added. */
bool collector_knows_stack(const struct collector *collector, uint64_t sample_hash);

/*
 * The converted frames of a stack. The executable of a frame is its object, so that it may have the
 * bit FRAME_CODE_OBJECT.
 */
struct collector_stack {
	size_t n_kernel_frames, n_user_frames;
	uint8_t cut; /* enum stack_cut */
	struct abi_frame frames[STACK_MAX_FRAMES];
};

/*
 * The stack with the hash @sample_hash of this window or the two windows before. False: there is
 * none.
 */
bool collector_find_stack(const struct collector *collector, uint64_t sample_hash,
			  struct collector_stack *ret_stack);

/*
 * The fold of an event type, of zeros at first. Its source may change it at any time: series with
 * different periods are different series, so a window may contain samples of both.
 */
struct event_fold *collector_fold(struct collector *collector, enum event_type type);

/* Whether the source of the event type @type does not profile the process. */
bool collector_excludes(const struct collector *collector, const struct process *process,
			unsigned int type);

/*
 * For event_fold.add: the number of the series of the sample's thread with this type, and a row.
 * The row's index in the rows of event_fold.finish is *ret_index; it may be NULL. 0 or -ENOMEM.
 */
int collector_series(struct collector *collector, const struct folded_sample *sample,
		     enum event_type type, uint32_t *ret_number);
int collector_add_row(struct collector *collector, const struct window_row *row, size_t *ret_index);

/* Whether the window must be closed now, before its time is over, because it is full. */
bool collector_is_full(const struct collector *collector);

/*
 * Closes the window: fills the rows and definitions of @window (the caller has set its sequence)
 * with arrays that are valid until the next close, then opens the next window. 0 or -ENOMEM.
 */
int collector_close(struct collector *collector, struct window *window);

/* Numbers that a server lacks. */
struct missing_numbers {
	const uint32_t *stacks, *executables, *code_objects;
	size_t n_stacks, n_executables, n_code_objects;
};

/*
 * Builds a window of definitions only, for a server that lost them: all processes and series, and
 * the missing stacks, executables and code objects.
 */
int collector_supplement(struct collector *collector, const struct missing_numbers *missing,
			 struct window *window);

struct definitions *collector_definitions(struct collector *collector);
void collector_stats(const struct collector *collector, struct collector_stats *ret_stats);

/*
 * Marks definitions as not sent. Call it if a batch was dropped, or, with @all, if the server lost
 * its numbers: see definitions_forget().
 */
void collector_forget(struct collector *collector, bool all);

/* The number of the open window. */
uint64_t collector_window(const struct collector *collector);

DEFINE_SCOPED(struct collector *, collector_free);
