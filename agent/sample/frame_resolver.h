/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Raw pcs -> frames, for what the kernel side could not turn into (executable, address) itself:
 * processes it was not told about yet, kernel modules, and code that the kernel made at run time
 * (BPF JIT, trampolines), which gets a name.
 */

#include "agent/executable/kernel_layout.h"
#include "agent/process/process_table.h"
#include "agent/sample/window.h"
#include "bpf/abi/sample_record.h"

struct frame_resolver;

/* @layout is borrowed for the resolver's life. */
int frame_resolver_new(struct process_table *processes, struct executable_cache *executables,
		       const struct kernel_layout *layout, struct frame_resolver **ret_resolver);
struct frame_resolver *frame_resolver_free(struct frame_resolver *resolver);

/*
 * Converts @frames[n_kernel + n_user], leaf first, into ret_frames (as many; fewer when the stack
 * leaves executable memory: *ret_cut then says so). Returns their number.
 */
size_t frame_resolver_convert(struct frame_resolver *resolver, struct process *process,
			      const struct abi_sample *sample, const struct abi_frame *frames,
			      struct window_frame *ret_frames, uint8_t *ret_cut);

/* The kernel has made code that begins at @start, or, without a @name, freed it. 0 or -ENOMEM. */
int frame_resolver_note_code(struct frame_resolver *resolver, uint64_t start, const char *name);

/* The layout has other modules than before. */
void frame_resolver_forget_code(struct frame_resolver *resolver);

/* Symbols and names of run-time code that were given up, in all, because there are too many. */
uint64_t frame_resolver_names_lost(const struct frame_resolver *resolver);

/* The name of a KERNEL_NAMED frame; NULL for a key that is not ours. */
const char *frame_resolver_name(const struct frame_resolver *resolver, uint64_t key);

DEFINE_SCOPED(struct frame_resolver *, frame_resolver_free);
