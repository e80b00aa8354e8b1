/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/import/pprof_profile.h"

#include <stdio.h>
#include <string.h>

#include "common/id_map.h"
#include "proto/profile.pb-c.h"
#include "symbolizer/import/build_id_text.h"
#include "symbolizer/import/foreign_unpack.h"

struct pprof {
	struct foreign_profile *profile;
	const struct foreign_request *request;
	const Pprof__Profile *message;
	struct id_map functions, mappings, locations; /* ID -> index */
	string_id *texts;                             /* [n_string_table] */
	struct foreign_code *codes;                   /* [n_function] */
	uint32_t *executables;                        /* [n_mapping] numbers; 0: not made yet */
	/* The frames of all locations: those of location i are from frame_start[i] on. */
	VEC_DEFINE(, struct foreign_frame) frames;
	size_t *frame_start; /* [n_location + 1] */
	VEC_DEFINE(, struct foreign_frame) stack;
	uint32_t *events; /* [n_sample_type] */
	struct foreign_label_vec labels;
	uint32_t process;
};

static void pprof_release(struct pprof *pprof)
{
	id_map_release(&pprof->functions);
	id_map_release(&pprof->mappings);
	id_map_release(&pprof->locations);
	vec_release(&pprof->frames);
	vec_release(&pprof->stack);
	vec_release(&pprof->labels);
}

static int check_string(struct pprof *pprof, int64_t index, const char *field, size_t item)
{
	if (index < 0 || (uint64_t)index >= MAX(pprof->message->n_string_table, (size_t)1))
		return foreign_bad(pprof->profile, "%s of item %zu: string %lld of %zu", field,
				   item, (long long)index, pprof->message->n_string_table);
	return 0;
}

static const char *string_at(const struct pprof *pprof, int64_t index)
{
	return index == 0 ? "" : pprof->message->string_table[index];
}

static string_id text_at(const struct pprof *pprof, int64_t index)
{
	return index == 0 ? 0 : pprof->texts[index];
}

static void *array_of(struct pprof *pprof, size_t count, size_t size)
{
	return arena_alloc_array(pprof->profile->arena, count + 1, size);
}

static int read_strings(struct pprof *pprof)
{
	const Pprof__Profile *message = pprof->message;
	int r = 0;

	if (message->n_string_table > 0 && message->string_table[0][0] != '\0')
		return foreign_bad(pprof->profile, "string_table[0] is not empty");
	pprof->texts = array_of(pprof, message->n_string_table, sizeof(*pprof->texts));
	if (!pprof->texts)
		return foreign_no_room(pprof->profile);
	for (size_t i = 0; i < message->n_string_table && r == 0; i++)
		r = foreign_text(pprof->profile, message->string_table[i],
				 strlen(message->string_table[i]), &pprof->texts[i]);
	return r;
}

/* Notes that item @index of a table has this ID. */
static int note_id(struct pprof *pprof, struct id_map *map, uint64_t id, size_t index,
		   const char *table)
{
	if (id == 0)
		return foreign_bad(pprof->profile, "%s[%zu].id is 0", table, index);
	if (id_map_find(map, id))
		return foreign_bad(pprof->profile, "%s[%zu].id: %llu is there twice", table, index,
				   (unsigned long long)id);
	return id_map_set(map, id, (uint32_t)index);
}

static int read_functions(struct pprof *pprof)
{
	const Pprof__Profile *message = pprof->message;
	int r = 0;

	pprof->codes = array_of(pprof, message->n_function, sizeof(*pprof->codes));
	if (!pprof->codes)
		return foreign_no_room(pprof->profile);
	for (size_t i = 0; i < message->n_function && r == 0; i++) {
		const Pprof__Function *function = message->function[i];
		const int64_t name = function->name ? function->name : function->system_name;

		r = note_id(pprof, &pprof->functions, function->id, i, "function");
		if (r == 0)
			r = check_string(pprof, name, "function.name", i);
		if (r == 0)
			r = check_string(pprof, function->filename, "function.filename", i);
		if (r == 0)
			pprof->codes[i] =
				(struct foreign_code){ .function = text_at(pprof, name),
						       .file = text_at(pprof, function->filename) };
	}
	return r;
}

static int read_mappings(struct pprof *pprof)
{
	const Pprof__Profile *message = pprof->message;
	int r = 0;

	pprof->executables = array_of(pprof, message->n_mapping, sizeof(*pprof->executables));
	if (!pprof->executables)
		return foreign_no_room(pprof->profile);
	for (size_t i = 0; i < message->n_mapping && r == 0; i++) {
		const Pprof__Mapping *mapping = message->mapping[i];

		r = note_id(pprof, &pprof->mappings, mapping->id, i, "mapping");
		if (r == 0)
			r = check_string(pprof, mapping->filename, "mapping.filename", i);
		if (r == 0)
			r = check_string(pprof, mapping->build_id, "mapping.build_id", i);
	}
	return r;
}

/* The executable of a mapping, which is made when the first frame needs it. */
static int executable_of(struct pprof *pprof, size_t index, uint32_t *ret_number)
{
	const Pprof__Mapping *mapping = pprof->message->mapping[index];
	const char *path = string_at(pprof, mapping->filename);
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	struct executable_id id = build_id_of_text(string_at(pprof, mapping->build_id));
	string_id name_id;
	int r = 0;

	if (pprof->executables[index] == 0) {
		r = foreign_text(pprof->profile, name, strlen(name), &name_id);
		if (r == 0)
			r = foreign_executable(pprof->profile, &id, name_id,
					       &pprof->executables[index]);
	}
	*ret_number = pprof->executables[index];
	return r;
}

static int add_address(struct pprof *pprof, const Pprof__Location *location)
{
	struct foreign_frame frame = { .kind = FRAME_ANONYMOUS, .address = location->address };
	const Pprof__Mapping *mapping;
	int r;

	if (location->mapping_id == 0)
		return vec_push(&pprof->frames, frame);
	r = executable_of(pprof, *id_map_find(&pprof->mappings, location->mapping_id),
			  &frame.object);
	if (r < 0)
		return r;
	mapping = pprof->message->mapping[*id_map_find(&pprof->mappings, location->mapping_id)];
	frame.kind = FRAME_NATIVE;
	if (location->address >= mapping->memory_start &&
	    location->address < mapping->memory_limit) {
		frame.kind = FRAME_NATIVE_FILE_OFFSET;
		frame.address = location->address - mapping->memory_start + mapping->file_offset;
	}
	return vec_push(&pprof->frames, frame);
}

static int add_line(struct pprof *pprof, const Pprof__Line *line, size_t location)
{
	const uint32_t *function =
		line->function_id ? id_map_find(&pprof->functions, line->function_id) : NULL;
	const uint32_t number =
		line->line > 0 && line->line <= UINT32_MAX ? (uint32_t)line->line : 0;
	struct foreign_frame frame;
	int r;

	if (!function)
		return foreign_bad(pprof->profile,
				   "location[%zu].line.function_id: no function %llu", location,
				   (unsigned long long)line->function_id);
	r = foreign_named_frame(pprof->profile, &pprof->codes[*function], FRAME_IMPORTED, number,
				&frame);
	return r < 0 ? r : vec_push(&pprof->frames, frame);
}

static int read_location(struct pprof *pprof, size_t index)
{
	const Pprof__Location *location = pprof->message->location[index];
	int r = note_id(pprof, &pprof->locations, location->id, index, "location");

	if (r == 0 && location->mapping_id && !id_map_find(&pprof->mappings, location->mapping_id))
		r = foreign_bad(pprof->profile, "location[%zu].mapping_id: no mapping %llu", index,
				(unsigned long long)location->mapping_id);
	if (r == 0 && location->n_line == 0)
		r = add_address(pprof, location);
	/* One more than a stack has, so that the stack is marked as cut. */
	for (size_t i = 0; i < MIN(location->n_line, (size_t)STACK_MAX_FRAMES + 1) && r == 0; i++)
		r = add_line(pprof, location->line[i], index);
	return r;
}

static int read_locations(struct pprof *pprof)
{
	const size_t count = pprof->message->n_location;
	int r = 0;

	pprof->frame_start = array_of(pprof, count, sizeof(*pprof->frame_start));
	if (!pprof->frame_start)
		return foreign_no_room(pprof->profile);
	for (size_t i = 0; i < count && r == 0; i++) {
		r = read_location(pprof, i);
		pprof->frame_start[i + 1] = pprof->frames.count;
	}
	return r;
}

/* The name of an event type: profiles of mutexes and of blocking have the same types. */
static int read_event(struct pprof *pprof, const char *type, const char *unit, uint32_t *ret_event)
{
	const char *name = pprof->request->profile_name;
	char text[2 * MAX_EVENT_TEXT_BYTES];

	if (name && (strcmp(name, "mutex") == 0 || strcmp(name, "block") == 0)) {
		(void)snprintf(text, sizeof(text), "%s-%.64s", name, type);
		type = text;
	}
	return foreign_event(pprof->profile, type, unit, ret_event);
}

static int read_events(struct pprof *pprof)
{
	const size_t count = pprof->message->n_sample_type;
	int r = 0;

	if (count == 0)
		return foreign_bad(pprof->profile, "sample_type is missing: no profile of pprof");
	pprof->events = array_of(pprof, count, sizeof(*pprof->events));
	if (!pprof->events)
		return foreign_no_room(pprof->profile);
	for (size_t i = 0; i < count && r == 0; i++) {
		const Pprof__ValueType *type = pprof->message->sample_type[i];

		r = check_string(pprof, type->type, "sample_type.type", i);
		if (r == 0)
			r = check_string(pprof, type->unit, "sample_type.unit", i);
		if (r == 0)
			r = read_event(pprof, string_at(pprof, type->type),
				       string_at(pprof, type->unit), &pprof->events[i]);
	}
	return r;
}

static int read_range(struct pprof *pprof)
{
	const struct foreign_request *request = pprof->request;
	const Pprof__Profile *message = pprof->message;
	uint64_t from_ns = request->from_ns, until_ns = request->until_ns;

	if (message->time_nanos < 0 || message->duration_nanos < 0)
		return foreign_bad(pprof->profile, "time_nanos or duration_nanos is negative");
	if (until_ns == 0 && message->time_nanos > 0) {
		from_ns = (uint64_t)message->time_nanos;
		until_ns = from_ns + (uint64_t)message->duration_nanos;
	} else if (until_ns == 0) {
		until_ns = request->now_ns;
		from_ns = until_ns - MIN((uint64_t)message->duration_nanos, until_ns);
	}
	return foreign_set_range(pprof->profile, from_ns, until_ns,
				 message->n_sample * message->n_sample_type);
}

static bool is_one_of(const char *text, const char *const *list)
{
	for (size_t i = 0; list[i]; i++)
		if (strcmp(text, list[i]) == 0)
			return true;
	return false;
}

/* Takes a label of a sample. */
static int read_label(struct pprof *pprof, const Pprof__Label *label, size_t sample,
		      struct foreign_series *series)
{
	static const char *const thread_names[] = { "thread", "thread name", "thread_name", NULL };
	static const char *const thread_ids[] = { "thread id", "thread_id", "tid", NULL };
	static const char *const left_out[] = { "trace id",   "trace_id", "span id", "span_id",
						"profile_id", "spanId",   "traceId", NULL };
	const char *key;
	int r = check_string(pprof, label->key, "sample.label.key", sample);

	if (r == 0)
		r = check_string(pprof, label->str, "sample.label.str", sample);
	if (r < 0)
		return r;
	key = string_at(pprof, label->key);
	if (is_one_of(key, thread_ids) && label->num > 0 && label->num <= UINT32_MAX) {
		series->tid = (uint32_t)label->num;
		return 0;
	}
	if (is_one_of(key, thread_names) && label->str) {
		series->thread_name = text_at(pprof, label->str);
		return 0;
	}
	if (label->str == 0 || is_one_of(key, left_out)) {
		pprof->profile->n_labels_left_out++;
		return 0;
	}
	return vec_push(&pprof->labels, ((struct foreign_label){ text_at(pprof, label->key),
								 text_at(pprof, label->str) }));
}

static int read_stack(struct pprof *pprof, const Pprof__Sample *sample, size_t index,
		      uint32_t *ret_stack)
{
	vec_clear(&pprof->stack);
	for (size_t i = 0; i < sample->n_location_id; i++) {
		const uint64_t id = sample->location_id[i];
		const uint32_t *location = id ? id_map_find(&pprof->locations, id) : NULL;
		size_t first, count;
		int r;

		if (!location)
			return foreign_bad(pprof->profile,
					   "sample[%zu].location_id[%zu]: no location %llu", index,
					   i, (unsigned long long)id);
		/* These frames are cut off anyway. */
		if (pprof->stack.count > STACK_MAX_FRAMES)
			continue;
		first = pprof->frame_start[*location];
		count = pprof->frame_start[*location + 1] - first;
		r = vec_reserve(&pprof->stack, count);
		if (r < 0)
			return r;
		memcpy(&pprof->stack.items[pprof->stack.count], &pprof->frames.items[first],
		       count * sizeof(*pprof->stack.items));
		pprof->stack.count += count;
	}
	return foreign_stack(pprof->profile, pprof->stack.items, pprof->stack.count, ret_stack);
}

static int read_value(struct pprof *pprof, size_t sample, size_t index,
		      const struct foreign_series *of_sample, uint32_t stack)
{
	const int64_t value = pprof->message->sample[sample]->value[index];
	struct foreign_series series = *of_sample;
	uint32_t number;
	int r;

	if (value < 0)
		return foreign_bad(pprof->profile, "sample[%zu].value[%zu] is negative: %lld",
				   sample, index, (long long)value);
	if (value == 0)
		return 0;
	series.event = pprof->events[index];
	r = foreign_series(pprof->profile, &series, &pprof->labels, &number);
	return r < 0 ? r : foreign_add(pprof->profile, number, stack, (uint64_t)value);
}

static int read_sample(struct pprof *pprof, size_t index)
{
	const Pprof__Sample *sample = pprof->message->sample[index];
	struct foreign_series series = { .process = pprof->process };
	uint32_t stack;
	int r = 0;

	if (sample->n_value != pprof->message->n_sample_type)
		return foreign_bad(pprof->profile,
				   "sample[%zu] has %zu values, but there are %zu types", index,
				   sample->n_value, pprof->message->n_sample_type);
	vec_clear(&pprof->labels);
	for (size_t i = 0; i < sample->n_label && r == 0; i++)
		r = read_label(pprof, sample->label[i], index, &series);
	if (r == 0)
		r = foreign_sort_labels(pprof->profile, &pprof->labels, MAX_LABELS_PER_SERIES);
	if (r == 0)
		r = read_stack(pprof, sample, index, &stack);
	for (size_t i = 0; i < sample->n_value && r == 0; i++)
		r = read_value(pprof, index, i, &series, stack);
	return r;
}

static int read_process(struct pprof *pprof)
{
	const struct foreign_request *request = pprof->request;
	string_id service;
	int r = foreign_text(pprof->profile, request->service, strlen(request->service), &service);

	return r < 0 ? r
		     : foreign_process(pprof->profile, service, request->pid, request->labels,
				       &pprof->process);
}

static int read_message(struct pprof *pprof)
{
	static int (*const steps[])(struct pprof * pprof) = {
		read_strings,  read_events,    read_range,   read_functions,
		read_mappings, read_locations, read_process,
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(steps) && r == 0; i++)
		r = steps[i](pprof);
	for (size_t i = 0; i < pprof->message->n_sample && r == 0; i++)
		r = read_sample(pprof, i);
	return r;
}

int pprof_profile_read(struct foreign_profile *profile, const struct foreign_request *request,
		       struct bytes_view data)
{
	scoped(bytes_release) struct bytes plain = BYTES_INIT(IMPORT_MAX_PLAIN_BYTES);
	scoped(pprof_release) struct pprof pprof = { .profile = profile, .request = request };
	int r = foreign_expand(profile, data, &plain, &data);

	id_map_init(&pprof.functions);
	id_map_init(&pprof.mappings);
	id_map_init(&pprof.locations);
	if (r == 0)
		r = foreign_unpack(profile, &pprof__profile__descriptor, data, "pprof profile",
				   &pprof.message);
	return r < 0 ? r : read_message(&pprof);
}
