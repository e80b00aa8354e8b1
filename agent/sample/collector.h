/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The open window. It turns samples into rows {series, stack, slot} -> value, and numbers every
 * process, stack and executable for the wire. Closing it gives a struct window for the encoder.
 * Used by the agent's main thread.
 */

#include "agent/process/process_table.h"
#include "agent/sample/definitions.h"
#include "agent/sample/frame_resolver.h"
#include "agent/sample/window.h"
#include "bpf/abi/sample_record.h"

struct collector;

struct collector_options {
	struct process_table *processes;
	struct executable_cache *executables;
	struct string_table *strings;
	struct frame_resolver *frames;
	uint64_t on_cpu_period_ns;
	bool keep_cpus_apart;      /* on-cpu */
	bool keep_wait_cpus_apart; /* off-cpu */
};

struct collector_stats {
	uint64_t samples; /* added to windows */
	uint64_t rows;
	/* samples with only the hash of a stack that is not known */
	uint64_t stacks_lost;
	uint64_t execs_missed;    /* seen by the count in samples, without an event */
	uint64_t stacks_dropped;  /* memory ran out: counted without a stack */
	uint64_t numbers_evicted; /* of stacks and series, to make room */
};

int collector_new(const struct collector_options *options, struct collector **ret_collector);
struct collector *collector_free(struct collector *collector);

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
 * Adds a sample. A wait (off-cpu) becomes one row per second, each in the slot in which that second
 * ends. A sample with ABI_SAMPLE_DEFINITION only adds its stack. With ABI_SAMPLE_WITH_WAIT, @frames is
 * the struct abi_wait of a wait that stands for skipped ones. 0 or -ENOMEM (if possible, the sample
 * is counted without its stack instead).
 */
int collector_add(struct collector *collector, const struct abi_sample *sample,
		  const struct abi_frame *frames);

/* Whether the stack with this hash is known, so that a sample without frames can be added. */
bool collector_knows_stack(const struct collector *collector, uint64_t sample_hash);

/*
 * The converted frames of a stack. The address of a frame of kind FRAME_KERNEL_NAMED is the key of
 * its name.
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
 * Sets the period of on-CPU samples from now on. Series with different periods are different
 * series, so a window may contain samples of both periods.
 */
void collector_set_period(struct collector *collector, uint64_t period_ns);

/* Whether the window should be closed now, even if its time is not over. */
bool collector_is_full(const struct collector *collector);

/*
 * Closes the window: fills the rows and definitions of @window (the caller has set its sequence)
 * with arrays that are valid until the next close, then opens the next window. 0 or -ENOMEM.
 */
int collector_close(struct collector *collector, struct window *window);

/*
 * Builds a window of definitions only, for a server that lost them: all processes and series, and
 * the given stacks and executables.
 */
int collector_supplement(struct collector *collector, const uint32_t *stacks, size_t n_stacks,
			 const uint32_t *executables, size_t n_executables, struct window *window);

struct definitions *collector_definitions(struct collector *collector);
void collector_stats(const struct collector *collector, struct collector_stats *ret_stats);

/* Call it if a batch was dropped or the server lost numbers: see definitions_forget(). */
void collector_forget(struct collector *collector, bool all);

uint64_t collector_window(const struct collector *collector);

DEFINE_SCOPED(struct collector *, collector_free);
