/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel addresses outside the image are resolved by the address ranges of modules, or else by the
 * names of code generated at run time. kallsyms is read again if an address is not among them,
 * because the kernel generates code, frees it, and generates other code at the same address.
 */
#include "agent/sample/frame_resolver.h"

#include <stdlib.h>

#include "agent/executable/kernel_code.h"
#include "agent/sample/frame_order.h"
#include "agent/sample/frame_runtime.h"

/* Language of the code objects of kernel code. */
#define KERNEL_LANGUAGE "bpf"

/* Shortest time between two readings of kallsyms for unknown code. */
#define KALLSYMS_EVERY_NS (10 * NSEC_PER_SEC)

struct frame_resolver {
	struct process_table *processes;
	struct executable_cache *executables;
	const struct kernel_layout *layout;
	struct kernel_code code;
	struct code_objects *objects;
	struct frame_code_source code_source; /* find is NULL: there is none */
	uint64_t read_ns;                     /* when kallsyms was last read; 0: never */
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
	r = code_objects_new(&resolver->objects);
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
	(void)code_objects_free(resolver->objects);
	free(resolver);
	return NULL;
}

struct code_objects *frame_resolver_code_objects(struct frame_resolver *resolver)
{
	return resolver->objects;
}

void frame_resolver_set_code_source(struct frame_resolver *resolver,
				    const struct frame_code_source *source)
{
	resolver->code_source = *source;
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
	return code_objects_lost(resolver->objects) + resolver->code.n_left_out;
}

/* 1: *ret_number is the code object at @pc; 0: the code has no name, or no known one. */
static int object_of_kernel_code(struct frame_resolver *resolver, uint64_t pc, uint64_t now_ns,
				 uint32_t *ret_number)
{
	const char *name = kernel_code_find(&resolver->code, pc);

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
	return code_objects_find(
		resolver->objects,
		&(struct code_content){ .language = KERNEL_LANGUAGE, .function = name },
		ret_number);
}

static void convert_kernel(struct frame_resolver *resolver, uint64_t pc, uint64_t now_ns,
			   struct window_frame *ret_frame)
{
	const struct kernel_layout *layout = resolver->layout;
	uint32_t number;

	for (size_t i = 0; i < layout->n_modules; i++) {
		const struct kernel_module *module = &layout->modules[i];
		const struct executable *executable;

		if (pc < module->start || pc >= module->end)
			continue;
		executable = executable_cache_by_id(resolver->executables, &module->id);
		if (!executable)
			break;
		ret_frame->object = executable->number;
		ret_frame->address = pc - module->start;
		return;
	}
	if (object_of_kernel_code(resolver, pc, now_ns, &number) != 1)
		return;
	/* The address of code that is generated again and again says nothing. */
	*ret_frame = (struct window_frame){ .kind = FRAME_KERNEL_CODE,
					    .object = FRAME_CODE_OBJECT | number };
}

/* A frame of byte code: its executable is the position in the code object. */
static bool has_functions(const struct abi_frame *frame)
{
	return frame_runtime(frame) != INTERPRETER_NONE && !(frame->executable & FRAME_CODE_OBJECT);
}

/* Returns the number of frames in @ret_frames, at most @max, which is not 0. */
static size_t convert_functions(const struct frame_resolver *resolver,
				const struct abi_sample *sample, const struct abi_frame *from,
				struct window_frame *ret_frames, size_t max)
{
	const struct frame_code_source *source = &resolver->code_source;

	if (source->find)
		return source->find(source->arg, sample, from, ret_frames, max);
	/* Without the object, neither the address nor the position means anything. */
	ret_frames[0] = (struct window_frame){ .kind = (uint8_t)from->kind };
	return 1;
}

size_t frame_resolver_convert(struct frame_resolver *resolver, struct process *process,
			      const struct abi_sample *sample, const struct abi_frame *frames,
			      struct window_frame *ret_frames, uint8_t *ret_cut)
{
	size_t n_frames = (size_t)sample->n_kernel_frames + sample->n_user_frames;
	uint16_t order[ABI_MAX_FRAMES];
	size_t count = 0;

	frame_order_find(sample, frames, order);
	for (size_t at = 0; at < n_frames; at++) {
		struct window_frame *frame = &ret_frames[count];
		const struct process_mapping *mapping;
		const size_t i = order[at];

		if (count == STACK_MAX_FRAMES) {
			*ret_cut = STACK_CUT_DEPTH;
			return count;
		}
		if (has_functions(&frames[i])) {
			count += convert_functions(resolver, sample, &frames[i], frame,
						   STACK_MAX_FRAMES - count);
			continue;
		}
		*frame = (struct window_frame){
			.address = frames[i].address,
			.object = frames[i].executable,
			.kind = (uint8_t)frames[i].kind,
		};
		count++;
		if (frame->object != 0)
			continue;
		if (frame->kind == FRAME_KERNEL) {
			convert_kernel(resolver, frame->address, sample->time_ns, frame);
			continue;
		}
		mapping = process_table_mapping(resolver->processes, process, frame->address,
						sample->time_ns);
		if (mapping && mapping->executable) {
			frame->object = mapping->executable->number;
			frame->kind = mapping->kind;
			frame->address -= mapping->bias;
		} else if (!mapping && i > sample->n_kernel_frames &&
			   !(frames[i].kind & ABI_FRAME_IS_LOOP)) {
			/*
			 * A caller without a mapping: the frame pointer was other data. Code that
			 * YJIT generated since the mappings were read has the mark, and was found
			 * without a frame pointer.
			 */
			*ret_cut = STACK_CUT_NO_MAPPING;
			return count - 1;
		} else {
			/* The address means something in this process only. */
			frame->kind = FRAME_ANONYMOUS;
		}
	}
	return count;
}
