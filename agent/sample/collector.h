/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The open window: samples become rows {series, stack, slot} -> value, with every process, stack
 * and executable numbered for the wire. Closing it gives a struct window for the encoder. Used by
 * the agent's main thread.
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
	uint64_t samples; /* taken into windows */
	uint64_t rows;
	/* samples whose stack was told by hash only, and the hash is not known */
	uint64_t stacks_lost;
	uint64_t execs_missed;    /* that no event reported: seen by the count in samples */
	uint64_t stacks_dropped;  /* memory ran out: counted without stack */
	uint64_t numbers_evicted; /* of stacks and series, before their time */
};

int collector_new(const struct collector_options *options, struct collector **ret_collector);
struct collector *collector_free(struct collector *collector);

/* The process of a sample that is not added yet: none of its files is looked at. 0 or -ENOMEM. */
int collector_image(struct collector *collector, const struct abi_sample *sample,
		    struct process **ret_process);

/*
 * The process of a sample, as this window's; with the labels that it had when it was first met. Its
 * image is the one that was sampled if all events before the sample were applied. 0 or -ENOMEM.
 */
int collector_process(struct collector *collector, const struct abi_sample *sample,
		      struct process **ret_process);

/*
 * 0 or -ENOMEM (the sample then counts without its stack where that is possible). A wait (off-cpu)
 * becomes a row for each second of it, in the slot in which that second ends; a definition only
 * makes its stack known. Where a wait STANDS for others, @frames is its struct abi_wait.
 */
int collector_add(struct collector *collector, const struct abi_sample *sample,
		  const struct abi_frame *frames);

/* Whether the stack of a sample is known that has this hash instead of its frames. */
bool collector_knows_stack(const struct collector *collector, uint64_t sample_hash);

/*
 * The frames of a stack as they were converted. An address of kind FRAME_KERNEL_NAMED is that
 * name's key.
 */
struct collector_stack {
	size_t n_kernel_frames, n_user_frames;
	uint8_t cut; /* enum stack_cut */
	struct abi_frame frames[STACK_MAX_FRAMES];
};

/*
 * The stack of a sample of this window or the two before with the hash @sample_hash. False: there
 * was none.
 */
bool collector_find_stack(const struct collector *collector, uint64_t sample_hash,
			  struct collector_stack *ret_stack);

/*
 * On-CPU samples from now on stand for @period_ns each. The series of a thread are told apart by
 * it, so a window may hold samples of both periods, and each keeps its value.
 */
void collector_set_period(struct collector *collector, uint64_t period_ns);

/* The window should be closed now, whatever the clock says. */
bool collector_is_full(const struct collector *collector);

/*
 * Closes the window: fills the rows and definitions of @window (whose sequence is set) with arrays
 * that are valid until the next close, and opens the next one. 0 or -ENOMEM.
 */
int collector_close(struct collector *collector, struct window *window);

/*
 * Definitions only, for a server that lost them: processes and series, and the stacks and
 * executables asked for.
 */
int collector_supplement(struct collector *collector, const uint32_t *stacks, size_t n_stacks,
			 const uint32_t *executables, size_t n_executables, struct window *window);

struct definitions *collector_definitions(struct collector *collector);
void collector_stats(const struct collector *collector, struct collector_stats *ret_stats);

/* A batch was dropped or the server lost numbers: see definitions_forget(). */
void collector_forget(struct collector *collector, bool all);

uint64_t collector_window(const struct collector *collector);

DEFINE_SCOPED(struct collector *, collector_free);
