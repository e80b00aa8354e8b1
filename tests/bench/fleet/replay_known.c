/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes the definitions that an agent has sent in an earlier lap. Those of processes that started
 * during the capture stay, because each lap has new ones.
 */

#include "tests/bench/fleet/replay_known.h"

/* The strings to which kept definitions refer. */
struct used_strings {
	bool *used; /* [message->n_strings] */
	size_t count;
};

static void use(const struct used_strings *strings, const uint32_t *indices, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (indices[i] < strings->count)
			strings->used[indices[i]] = true;
}

static void use_process(const struct used_strings *strings, const Hearth__V1__Process *process)
{
	use(strings, &process->name, 1);
	use(strings, &process->executable_path, 1);
	use(strings, process->path, process->n_path);
	use(strings, process->label_name, process->n_label_name);
	use(strings, process->label_value, process->n_label_value);
}

static void use_series(const struct used_strings *strings, const Hearth__V1__Series *series)
{
	use(strings, &series->thread_name, 1);
	use(strings, series->label_name, series->n_label_name);
	use(strings, series->label_value, series->n_label_value);
}

static int keep_processes(const struct capture *capture, Hearth__V1__Batch *message,
			  struct arena *scratch)
{
	Hearth__V1__Process **kept =
		arena_alloc_array(scratch, MAX(message->n_processes, (size_t)1), sizeof(*kept));
	size_t count = 0;

	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < message->n_processes; i++)
		if (hash_table_find(capture->new_processes, &message->processes[i]->number))
			kept[count++] = message->processes[i];
	message->processes = kept;
	message->n_processes = count;
	return 0;
}

static int keep_series(const struct capture *capture, Hearth__V1__Batch *message,
		       struct arena *scratch)
{
	Hearth__V1__Series **kept =
		arena_alloc_array(scratch, MAX(message->n_series, (size_t)1), sizeof(*kept));
	size_t count = 0;

	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < message->n_series; i++)
		if (hash_table_find(capture->new_processes, &message->series[i]->process))
			kept[count++] = message->series[i];
	message->series = kept;
	message->n_series = count;
	return 0;
}

/* Empties strings that nothing refers to any more. Their indices stay. */
static int drop_strings(Hearth__V1__Batch *message, struct arena *scratch)
{
	static char empty[] = "";
	const size_t count = MAX(message->n_strings, (size_t)1);
	const struct used_strings strings = {
		.used = arena_alloc_array(scratch, count, sizeof(bool)), .count = message->n_strings
	};
	char **kept = arena_alloc_array(scratch, count, sizeof(*kept));

	if (!kept || !strings.used)
		return -ENOMEM;
	for (size_t i = 0; i < message->n_processes; i++)
		use_process(&strings, message->processes[i]);
	for (size_t i = 0; i < message->n_series; i++)
		use_series(&strings, message->series[i]);
	for (size_t i = 0; i < message->n_event_types; i++) {
		use(&strings, &message->event_types[i]->name, 1);
		use(&strings, &message->event_types[i]->unit, 1);
	}
	for (size_t i = 0; i < message->n_strings; i++)
		kept[i] = strings.used[i] ? message->strings[i] : empty;
	message->strings = kept;
	return 0;
}

int replay_drop_known(const struct capture *capture, Hearth__V1__Batch *message,
		      struct arena *scratch)
{
	int r;

	message->n_executables = 0;
	message->n_code_objects = 0;
	message->n_named_frames = 0;
	message->stacks = NULL;
	r = keep_processes(capture, message, scratch);
	if (r == 0)
		r = keep_series(capture, message, scratch);
	return r < 0 ? r : drop_strings(message, scratch);
}
