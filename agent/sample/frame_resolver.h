/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Converts the addresses that the BPF programs could not convert to (object, address): addresses in
 * processes that were not in the maps yet, in kernel modules, and in code that the kernel generated
 * at run time (BPF JIT, trampolines). Such code becomes a code object.
 */

#include "agent/executable/kernel_layout.h"
#include "agent/process/process_table.h"
#include "agent/sample/code_objects.h"
#include "agent/sample/window.h"
#include "bpf/abi/sample_record.h"

struct frame_resolver;

/* Finds the functions of interpreters and virtual machines. */
struct frame_code_source {
	void *arg;
	/*
	 * Finds the frames of functions that @frame, of byte code or of code that a compiler made
	 * of it, stands for, the innermost first: compiled code has functions inlined into it.
	 * Returns their number, at most @max, which is not 0; 0: another frame stands for the
	 * function.
	 */
	size_t (*find)(void *arg, const struct abi_sample *sample, const struct abi_frame *frame,
		       struct window_frame *ret_frames, size_t max);
};

/* @layout is borrowed until the resolver is freed. */
int frame_resolver_new(struct process_table *processes, struct executable_cache *executables,
		       const struct kernel_layout *layout, struct frame_resolver **ret_resolver);
struct frame_resolver *frame_resolver_free(struct frame_resolver *resolver);

/* Without it, frames of byte code have no code object. */
void frame_resolver_set_code_source(struct frame_resolver *resolver,
				    const struct frame_code_source *source);

/*
 * Converts @frames[n_kernel + n_user], leaf first, to @ret_frames[STACK_MAX_FRAMES]. If an address
 * is not in executable memory, or inlined functions have no room, cuts the stack there and sets
 * *ret_cut. Returns the number of frames in @ret_frames.
 */
size_t frame_resolver_convert(struct frame_resolver *resolver, struct process *process,
			      const struct abi_sample *sample, const struct abi_frame *frames,
			      struct window_frame *ret_frames, uint8_t *ret_cut);

/* Records that the kernel generated code at @start, or freed it (@name: NULL). 0 or -ENOMEM. */
int frame_resolver_note_code(struct frame_resolver *resolver, uint64_t start, const char *name);

/* Must be called when the modules of the layout have changed. */
void frame_resolver_forget_code(struct frame_resolver *resolver);

/* Number of symbols and code objects of run-time code that were dropped to limit the memory. */
uint64_t frame_resolver_names_lost(const struct frame_resolver *resolver);

/* The code objects to which converted frames refer. */
struct code_objects *frame_resolver_code_objects(struct frame_resolver *resolver);

DEFINE_SCOPED(struct frame_resolver *, frame_resolver_free);
