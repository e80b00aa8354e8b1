/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel addresses outside the image are resolved by the address ranges of modules, or else by the
 * names of code generated at run time. kallsyms is read again if an address is not among them,
 * because the kernel generates code, frees it, and generates other code at the same address.
 */
#include "agent/sample/frame_resolver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/executable/kernel_code.h"
#include "common/frame.h"
#include "common/hash.h"
#include "common/hash_table.h"
#include "common/log.h"

/* Names of run-time code in use; each is a BPF program or a trampoline. */
#define MAX_NAMES 16384

/* Shortest time between two readings of kallsyms for unknown code. */
#define KALLSYMS_EVERY_NS (10 * NSEC_PER_SEC)

struct named_code {
	char name[sizeof(((struct kernel_code_symbol *)0)->name)];
};

struct frame_resolver {
	struct process_table *processes;
	struct executable_cache *executables;
	const struct kernel_layout *layout;
	struct kernel_code code;
	struct hash_table *names; /* uint64_t key -> struct named_code */
	uint64_t read_ns;         /* when kallsyms was last read; 0: never */
	uint64_t names_lost;
};

int frame_resolver_new(struct process_table *processes, struct executable_cache *executables,
		       const struct kernel_layout *layout, struct frame_resolver **ret_resolver)
{
	scoped(frame_resolver_freep) struct frame_resolver *resolver = calloc(1, sizeof(*resolver));
	int r;

	if (!resolver)
		return -ENOMEM;
	resolver->processes = processes;
	resolver->executables = executables;
	resolver->layout = layout;
	r = hash_table_new(sizeof(uint64_t), sizeof(struct named_code), 0, &resolver->names);
	if (r < 0)
		return r;
	*ret_resolver = take_ptr(resolver);
	return 0;
}

struct frame_resolver *frame_resolver_free(struct frame_resolver *resolver)
{
	if (!resolver)
		return NULL;
	kernel_code_release(&resolver->code);
	hash_table_free(resolver->names);
	free(resolver);
	return NULL;
}

const char *frame_resolver_name(const struct frame_resolver *resolver, uint64_t key)
{
	const struct named_code *code = hash_table_find(resolver->names, &key);

	return code ? code->name : NULL;
}

int frame_resolver_note_code(struct frame_resolver *resolver, uint64_t start, const char *name)
{
	/* The first reading of kallsyms will find it. */
	if (resolver->read_ns == 0)
		return 0;
	if (name)
		return kernel_code_add(&resolver->code, start, name);
	kernel_code_remove(&resolver->code, start);
	return 0;
}

void frame_resolver_forget_code(struct frame_resolver *resolver)
{
	resolver->read_ns = 0;
	vec_clear(&resolver->code.symbols);
}

uint64_t frame_resolver_names_lost(const struct frame_resolver *resolver)
{
	return resolver->names_lost + resolver->code.n_left_out;
}

/* 1: *ret_key is the key of the name of the code at @pc; 0: it has no name, or no known one. */
static int name_of_kernel_code(struct frame_resolver *resolver, uint64_t pc, uint64_t now_ns,
			       uint64_t *ret_key)
{
	const char *name = kernel_code_find(&resolver->code, pc);
	void *value;
	int r;

	/* Without the addresses of the image, all kernel code would seem to be run-time code. */
	if (resolver->layout->text_start == 0)
		return 0;
	if (!name && (resolver->read_ns == 0 || now_ns >= resolver->read_ns + KALLSYMS_EVERY_NS)) {
		resolver->read_ns = now_ns;
		(void)kernel_code_read(&resolver->code, resolver->layout);
		name = kernel_code_find(&resolver->code, pc);
	}
	if (!name)
		return 0;
	*ret_key = hash64_of(name, strlen(name));
	if (hash_table_count(resolver->names) >= MAX_NAMES) {
		if (resolver->names_lost == 0)
			log_warn("more than %d functions of BPF programs and trampolines were "
				 "sampled: frames in them may lack names",
				 MAX_NAMES);
		resolver->names_lost += MAX_NAMES;
		hash_table_clear(resolver->names);
	}
	r = hash_table_insert(resolver->names, ret_key, &value);
	if (r < 0)
		return r;
	(void)snprintf(((struct named_code *)value)->name, sizeof(struct named_code), "%s", name);
	return 1;
}

static void convert_kernel(struct frame_resolver *resolver, uint64_t pc, uint64_t now_ns,
			   struct window_frame *ret_frame)
{
	const struct kernel_layout *layout = resolver->layout;

	for (size_t i = 0; i < layout->n_modules; i++) {
		const struct kernel_module *module = &layout->modules[i];
		const struct executable *executable;

		if (pc < module->start || pc >= module->end)
			continue;
		executable = executable_cache_by_id(resolver->executables, &module->id);
		if (!executable)
			break;
		ret_frame->executable = executable->number;
		ret_frame->address = pc - module->start;
		return;
	}
	if (name_of_kernel_code(resolver, pc, now_ns, &ret_frame->address) == 1)
		ret_frame->kind = FRAME_KERNEL_NAMED;
}

size_t frame_resolver_convert(struct frame_resolver *resolver, struct process *process,
			      const struct abi_sample *sample, const struct abi_frame *frames,
			      struct window_frame *ret_frames, uint8_t *ret_cut)
{
	size_t n_frames = (size_t)sample->n_kernel_frames + sample->n_user_frames;
	size_t count = 0;

	for (size_t i = 0; i < n_frames; i++) {
		struct window_frame *frame = &ret_frames[count];
		const struct process_mapping *mapping;

		*frame = (struct window_frame){
			.address = frames[i].address,
			.executable = frames[i].executable,
			.kind = (uint8_t)frames[i].kind,
		};
		count++;
		/* KERNEL_NAMED: named in an earlier sample (see collector_find_stack()). */
		if (frame->executable != 0 || frame->kind == FRAME_KERNEL_NAMED)
			continue;
		if (frame->kind == FRAME_KERNEL) {
			convert_kernel(resolver, frame->address, sample->time_ns, frame);
			continue;
		}
		mapping = process_table_mapping(resolver->processes, process, frame->address,
						sample->time_ns);
		if (mapping && mapping->executable) {
			frame->executable = mapping->executable->number;
			frame->kind = mapping->kind;
			frame->address -= mapping->bias;
		} else if (!mapping && i > sample->n_kernel_frames) {
			/* A caller without a mapping: the frame pointer was other data. */
			*ret_cut = STACK_CUT_NO_MAPPING;
			return count - 1;
		}
	}
	return count;
}
