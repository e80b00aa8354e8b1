/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable mappings of an image: a sorted array, shared by forked children until it changes.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/process/copied_code.h"
#include "agent/process/process_image.h"
#include "common/frame.h"
#include "common/log.h"
#include "common/vec.h"

/*
 * Maximum number of executable mappings kept of a process, 88 bytes each. The kernel allows 65530
 * mappings of all kinds (vm.max_map_count).
 */
#define MAX_MAPPINGS 65536

/*
 * Time until an unavailable file is looked up again: long, because a helper that hung or died will
 * most likely do so again; short, because a file system that hung for a moment works again.
 */
#define LOOK_UP_AGAIN_NS (4 * NSEC_PER_SEC)

/*
 * To be called when an image with these mappings has ended or uses others. The last such image
 * removes them from the BPF maps.
 */
static void leave(const struct process_image_context *context, struct process_mappings *mappings)
{
	assert(mappings->n_running > 0);
	if (--mappings->n_running > 0 || !mappings->published_set)
		return;
	if (context->observer->mappings_gone)
		context->observer->mappings_gone(context->observer->arg, mappings);
	mappings->published_set = 0;
	mappings->n_published_chunks = 0;
	mappings->changed = true;
}

static void unref_mappings(const struct process_image_context *context,
			   struct process_mappings *mappings)
{
	if (--mappings->references > 0)
		return;
	for (size_t i = 0; i < mappings->count; i++) {
		if (mappings->items[i].executable)
			executable_unref(context->executables, mappings->items[i].executable);
	}
	free(mappings->items);
	free(mappings);
}

void process_image_release_mappings(const struct process_image_context *context,
				    struct process_mappings *mappings)
{
	if (!mappings)
		return;
	leave(context, mappings);
	unref_mappings(context, mappings);
}

void process_image_leave_mappings(const struct process_image_context *context,
				  struct process *process)
{
	if (process->mappings_left)
		return;
	process->mappings_left = true;
	if (process->mappings)
		leave(context, process->mappings);
}

void process_image_drop_mappings(const struct process_image_context *context,
				 struct process *process)
{
	if (!process->mappings)
		return;
	if (!process->mappings_left)
		leave(context, process->mappings);
	unref_mappings(context, process->mappings);
	process->mappings = NULL;
}

static struct process_mappings *copy_mappings(const struct process_mappings *from)
{
	struct process_mappings *mappings = calloc(1, sizeof(*mappings));

	if (!mappings)
		return NULL;
	mappings->references = 1;
	mappings->n_running = 1;
	mappings->changed = true;
	if (!from || from->count == 0)
		return mappings;
	mappings->items = malloc(from->count * sizeof(*from->items));
	if (!mappings->items) {
		free(mappings);
		return NULL;
	}
	memcpy(mappings->items, from->items, from->count * sizeof(*from->items));
	mappings->count = from->count;
	mappings->capacity = from->count;
	for (size_t i = 0; i < mappings->count; i++) {
		if (mappings->items[i].executable)
			executable_ref(mappings->items[i].executable);
	}
	return mappings;
}

static bool is_file(const char *path)
{
	/*
	 * The kernel's events name anonymous memory "//anon". A SYSV segment and /dev/zero are no
	 * ELF files.
	 */
	return path[0] == '/' && path[1] != '/' && strncmp(path, "/SYSV", 5) != 0 &&
	       strncmp(path, "/dev/zero", 9) != 0;
}

bool process_mapping_is_anonymous(const struct process_image_context *context,
				  const struct process_mapping *mapping)
{
	const char *path = string_table_text(context->strings, mapping->path);

	return mapping->reported.inode == 0 && !is_file(path) && strcmp(path, "[vdso]") != 0;
}

bool process_mapping_has_file(const struct process_image_context *context,
			      const struct process_mapping *mapping)
{
	return is_file(string_table_text(context->strings, mapping->path));
}

static bool is_same_range(const struct process_mapping *a, const struct process_mapping *b)
{
	return a->start == b->start && a->end == b->end && a->file_offset == b->file_offset &&
	       a->path == b->path;
}

/*
 * Whether @b, which the kernel reports, is the known mapping @a. A library may have been unloaded,
 * and another library, or a new version with the same path, loaded at the same addresses. The file
 * is the same if it has the same inode of the same generation, because inode numbers are reused.
 */
static bool is_same_mapping(const struct process_image_context *context,
			    const struct process_mapping *a, const struct process_mapping *b)
{
	if (process_mapping_is_anonymous(context, a) && process_mapping_is_anonymous(context, b))
		return a->start <= b->start && a->end >= b->end;
	if (!is_same_range(a, b))
		return false;
	if (a->reported.generation && b->reported.generation)
		return a->reported.device == b->reported.device &&
		       a->reported.inode == b->reported.inode &&
		       a->reported.generation == b->reported.generation;
	return !is_file(string_table_text(context->strings, a->path));
}

/* The same for two readings of /proc, which have no generation. Events in between were lost. */
static bool seems_same(const struct process_image_context *context, const struct process_mapping *a,
		       const struct process_mapping *b)
{
	if (!is_same_range(a, b) || a->is_copy != b->is_copy)
		return false;
	return a->reported.inode ? a->reported.inode == b->reported.inode
				 : !is_file(string_table_text(context->strings, a->path));
}

void process_image_inherit(const struct process_image_context *context,
			   struct process_mappings *mappings, const struct process_mappings *from)
{
	size_t at = 0;

	for (size_t i = 0; from && i < mappings->count; i++) {
		struct process_mapping *to = &mappings->items[i];
		const struct process_mapping *same;

		while (at < from->count && from->items[at].start < to->start)
			at++;
		if (at == from->count)
			return;
		same = &from->items[at];
		if (!seems_same(context, same, to))
			continue;
		*to = *same;
		if (to->executable)
			executable_ref(to->executable);
	}
}

/* Copies the mappings before a change if other images share them. */
static int own_mappings(const struct process_image_context *context, struct process *process)
{
	struct process_mappings *copy;

	if (process->mappings && process->mappings->references == 1) {
		process->mappings->changed = true;
		return 0;
	}
	copy = copy_mappings(process->mappings);
	if (!copy)
		return -ENOMEM;
	process_image_drop_mappings(context, process);
	process->mappings = copy;
	return 0;
}

size_t process_mappings_first_above(const struct process_mappings *mappings, uint64_t pc)
{
	size_t low = 0;
	size_t high = mappings->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (mappings->items[middle].end <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct process_mapping *process_image_search(const struct process *process, uint64_t pc)
{
	size_t at;

	if (!process->mappings)
		return NULL;
	at = process_mappings_first_above(process->mappings, pc);
	if (at == process->mappings->count || process->mappings->items[at].start > pc)
		return NULL;
	return &process->mappings->items[at];
}

static bool is_reported_file(const struct process_mapping *mapping,
			     const struct reported_file *reported)
{
	return mapping->reported.device == reported->device &&
	       mapping->reported.inode == reported->inode &&
	       mapping->reported.generation == reported->generation;
}

bool process_image_replaces(const struct process_image_context *context,
			    const struct process *process, uint64_t start, uint64_t end,
			    const struct reported_file *reported)
{
	const struct process_mappings *mappings = process->mappings;

	for (size_t i = mappings ? process_mappings_first_above(mappings, start) : 0;
	     mappings && i < mappings->count && mappings->items[i].start < end; i++) {
		if (!process_mapping_is_anonymous(context, &mappings->items[i]) &&
		    !is_reported_file(&mappings->items[i], reported))
			return true;
	}
	return false;
}

static int insert_at(struct process_mappings *mappings, size_t at,
		     const struct process_mapping *mapping)
{
	int r = vec_reserve(mappings, 1);

	if (r < 0)
		return r;
	memmove(&mappings->items[at + 1], &mappings->items[at],
		(mappings->count - at) * sizeof(*mappings->items));
	mappings->items[at] = *mapping;
	mappings->count++;
	return 0;
}

static void remove_at(const struct process_image_context *context,
		      struct process_mappings *mappings, size_t at)
{
	if (mappings->items[at].executable)
		executable_unref(context->executables, mappings->items[at].executable);
	mappings->count--;
	memmove(&mappings->items[at], &mappings->items[at + 1],
		(mappings->count - at) * sizeof(*mappings->items));
}

/*
 * Joins @mapping with adjacent anonymous mappings: a just-in-time compiler maps its code in many
 * small pieces. True: @mapping is now part of a neighbour.
 */
static bool join_neighbours(const struct process_image_context *context,
			    struct process_mappings *mappings, size_t at,
			    const struct process_mapping *mapping)
{
	struct process_mapping *before = at > 0 ? &mappings->items[at - 1] : NULL;
	struct process_mapping *after = at < mappings->count ? &mappings->items[at] : NULL;

	if (!process_mapping_is_anonymous(context, mapping))
		return false;
	if (before &&
	    (before->end != mapping->start || !process_mapping_is_anonymous(context, before)))
		before = NULL;
	if (after &&
	    (after->start != mapping->end || !process_mapping_is_anonymous(context, after)))
		after = NULL;
	if (before)
		before->end = after ? after->end : mapping->end;
	else if (after)
		after->start = mapping->start;
	if (before && after)
		remove_at(context, mappings, at);
	return before || after;
}

/*
 * Removes [@start, @end) from the mappings: a new mapping replaces it (MAP_FIXED), or it was
 * unmapped before, for which the kernel sends no event.
 */
static int cut_out(const struct process_image_context *context, struct process_mappings *mappings,
		   uint64_t start, uint64_t end)
{
	size_t at = process_mappings_first_above(mappings, start);

	while (at < mappings->count && mappings->items[at].start < end) {
		struct process_mapping *old = &mappings->items[at];

		if (old->start < start && old->end > end) {
			struct process_mapping tail = *old;
			int r;

			tail.file_offset += end - tail.start;
			tail.start = end;
			old->end = start;
			if (tail.executable)
				executable_ref(tail.executable);
			r = insert_at(mappings, at + 1, &tail);
			if (r < 0 && tail.executable)
				executable_unref(context->executables, tail.executable);
			return r;
		}
		if (old->start < start) {
			old->end = start;
			at++;
		} else if (old->end > end) {
			old->file_offset += end - old->start;
			old->start = end;
			return 0;
		} else {
			remove_at(context, mappings, at);
		}
	}
	return 0;
}

static void drop_mapping(const struct process_image_context *context, struct process *process)
{
	context->stats->mappings_dropped++;
	if (process->mappings_dropped)
		return;
	process->mappings_dropped = true;
	log_warn(
		"process %u ('%s') has more than %d executable mappings: frames in the others have "
		"no names",
		process->pid, process->image_name, MAX_MAPPINGS);
}

int process_image_add_mapping(const struct process_image_context *context, struct process *process,
			      const struct process_mapping_source *source)
{
	struct process_mapping mapping = {
		.start = source->start,
		.end = source->end,
		.file_offset = source->file_offset,
		.reported = source->reported,
	};
	const struct process_mapping *same;
	size_t at;
	int r;

	if (source->start >= source->end)
		return 0;
	r = string_table_intern(context->strings, source->path, strlen(source->path),
				&mapping.path);
	if (r < 0 && r != -ENOSPC)
		return r;
	/* The event and /proc may both report a mapping. */
	same = process_image_search(process, source->start);
	if (same && is_same_mapping(context, same, &mapping))
		return 0;

	r = own_mappings(context, process);
	if (r < 0)
		return r;
	if (process_mapping_is_anonymous(context, &mapping))
		copied_code_find(context, process->mappings, &mapping);
	r = cut_out(context, process->mappings, mapping.start, mapping.end);
	if (r < 0)
		return r;
	at = process_mappings_first_above(process->mappings, mapping.start);
	if (join_neighbours(context, process->mappings, at, &mapping))
		return 0;
	if (process->mappings->count >= MAX_MAPPINGS) {
		drop_mapping(context, process);
		return 0;
	}
	return insert_at(process->mappings, at, &mapping);
}

static int find(const struct process_image_context *context, const struct mapped_file *file,
		struct process_mapping *mapping, struct executable **ret_executable)
{
	const struct process_identifier *identifier = &context->identifier;

	if (!identifier->find)
		return executable_cache_identify(context->executables, file, ret_executable);
	return identifier->find(identifier->arg, file, &mapping->look_up, ret_executable);
}

void process_image_identify(const struct process_image_context *context, struct process *process,
			    struct process_mapping *mapping)
{
	const char *path = string_table_text(context->strings, mapping->path);
	struct executable *executable = NULL;
	int found = 0;

	/* For memory without a file, the frame has the raw pc. */
	mapping->kind = FRAME_NATIVE;
	mapping->bias = 0;
	if (strcmp(path, "[vdso]") == 0) {
		found = executable_cache_identify_vdso(context->executables, mapping->start,
						       mapping->end, &executable);
	} else if (is_file(path)) {
		struct mapped_file file = {
			.pid = process->pid,
			.parent_pid = process->parent_pid,
			.start = mapping->start,
			.end = mapping->end,
			.file_offset = mapping->file_offset,
			.path = path,
			.reported = mapping->reported,
			.is_copy = mapping->is_copy,
		};

		found = find(context, &file, mapping, &executable);
	}
	if (found == -EINPROGRESS)
		mapping->kind = 0;
	mapping->is_unavailable = found == EXECUTABLE_UNAVAILABLE;
	if (found != 1)
		return;
	if (executable_load_bias(executable, mapping->start, mapping->file_offset,
				 &mapping->bias) != 1) {
		mapping->kind = FRAME_NATIVE_FILE_OFFSET;
		mapping->bias = mapping->start - mapping->file_offset;
	}
	executable_ref(executable);
	mapping->executable = executable;
}

void process_image_look_up_again(struct process_mappings *mappings, uint64_t now_ns)
{
	if (mappings->look_up_again_ns == 0) {
		mappings->look_up_again_ns = now_ns + LOOK_UP_AGAIN_NS;
		return;
	}
	if (now_ns < mappings->look_up_again_ns)
		return;
	mappings->look_up_again_ns = 0;
	for (size_t i = 0; i < mappings->count; i++) {
		struct process_mapping *mapping = &mappings->items[i];

		if (!mapping->is_unavailable)
			continue;
		mapping->is_unavailable = false;
		mapping->look_up = 0;
		mapping->kind = 0;
	}
}

void process_image_forget_superseded(const struct process_image_context *context,
				     struct process *process)
{
	struct process_mappings *mappings = process->mappings;

	for (size_t i = 0; mappings && i < mappings->count; i++) {
		struct process_mapping *mapping = &mappings->items[i];

		if (!mapping->executable || !mapping->executable->is_superseded)
			continue;
		executable_unref(context->executables, mapping->executable);
		mapping->executable = NULL;
		mapping->look_up = 0;
		mapping->kind = 0;
		mappings->changed = true;
	}
	if (!process->main_executable || !process->main_executable->is_superseded)
		return;
	executable_unref(context->executables, process->main_executable);
	process->main_executable = NULL;
	process->details_read = false;
	/* The server takes a process with another main executable for another process. */
	process->number = 0;
	process->first_sent_sequence = 0;
}
