/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel pcs outside the image: modules by their ranges, everything else by one look into kallsyms per page of code,
 * because such a look costs tens of milliseconds.
 */
#include "agent/sample/frame_resolver.h"

#include <stdlib.h>
#include <string.h>

#include "common/frame.h"
#include "common/hash.h"
#include "common/hash_table.h"

/* Names of run-time code that are kept; each is a BPF program or a trampoline. */
#define MAX_NAMES 4096

/* At most one look into kallsyms in this time. */
#define KALLSYMS_EVERY_NS (250 * NSEC_PER_MSEC)

#define NAME_SIZE 96

struct frame_resolver {
	struct process_table *processes;
	struct executable_cache *executables;
	const struct kernel_layout *layout;
	struct hash_table *keys;  /* pc >> 6 -> uint64_t key of its name */
	struct hash_table *names; /* key -> char[NAME_SIZE] */
	uint64_t looked_ns;
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
	r = hash_table_new(sizeof(uint64_t), sizeof(uint64_t), MAX_NAMES, &resolver->keys);
	if (r < 0)
		return r;
	r = hash_table_new(sizeof(uint64_t), NAME_SIZE, MAX_NAMES, &resolver->names);
	if (r < 0)
		return r;
	*ret_resolver = take_ptr(resolver);
	return 0;
}

struct frame_resolver *frame_resolver_free(struct frame_resolver *resolver)
{
	if (!resolver)
		return NULL;
	hash_table_free(resolver->keys);
	hash_table_free(resolver->names);
	free(resolver);
	return NULL;
}

const char *frame_resolver_name(const struct frame_resolver *resolver, uint64_t key)
{
	return hash_table_find(resolver->names, &key);
}

/* 1: *ret_key names the code at @pc. 0: no name, or not now. */
static int name_of_kernel_code(struct frame_resolver *resolver, uint64_t pc, uint64_t now_ns, uint64_t *ret_key)
{
	uint64_t place = pc >> 6;
	const uint64_t *known = hash_table_find(resolver->keys, &place);
	char name[NAME_SIZE] = "";
	void *value;
	uint64_t key;

	if (known) {
		*ret_key = *known;
		return *known != 0;
	}
	if (resolver->looked_ns && now_ns < resolver->looked_ns + KALLSYMS_EVERY_NS)
		return 0;
	resolver->looked_ns = now_ns;
	if (hash_table_count(resolver->keys) >= MAX_NAMES)
		hash_table_clear(resolver->keys);
	if (hash_table_count(resolver->names) >= MAX_NAMES)
		hash_table_clear(resolver->names);

	(void)kernel_symbol_at(pc, name, sizeof(name));
	key = name[0] ? hash64_of(name, strlen(name)) : 0;
	if (hash_table_insert(resolver->keys, &place, &value) >= 0)
		*(uint64_t *)value = key;
	if (key == 0 || hash_table_insert(resolver->names, &key, &value) < 0)
		return 0;
	memcpy(value, name, sizeof(name));
	*ret_key = key;
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
		if (frame->executable != 0)
			continue;
		if (frame->kind == FRAME_KERNEL) {
			convert_kernel(resolver, frame->address, sample->time_ns, frame);
			continue;
		}
		mapping = process_table_mapping(resolver->processes, process, frame->address, sample->time_ns);
		if (mapping && mapping->executable) {
			frame->executable = mapping->executable->number;
			frame->kind = mapping->kind;
			frame->address -= mapping->bias;
		} else if (!mapping && i > sample->n_kernel_frames) {
			/* No caller is where nothing is mapped: the frame pointer was something else. */
			*ret_cut = STACK_CUT_NO_MAPPING;
			return count - 1;
		}
	}
	return count;
}
