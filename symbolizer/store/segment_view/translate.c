/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates the definitions of a part to the handles of the view. A row is translated once: its
 * handle is kept in an array for the time in which the part is decoded.
 *
 * Labels and paths are lists that share their ends. Their rows refer to earlier rows only, so one
 * pass from the first row to the last translates all lists.
 */

#include "symbolizer/store/segment_view/segment_view_private.h"

#include "common/hash.h"

#define PROCESS_GROUP 64U
#define PROCESS_WORDS 6

static int new_ids(struct translation *translation, enum segment_table table, unsigned int tables,
		   uint32_t **ret_ids)
{
	size_t count = translation->segment->count[table];

	if (!(tables & SEGMENT_SET(table)))
		return 0;
	*ret_ids = arena_alloc_array(translation->view->scratch, count, sizeof(**ret_ids));
	return *ret_ids ? 0 : -ENOMEM;
}

int translation_init(struct translation *translation, struct segment_view *view,
		     const struct view_part *part, const struct segment *segment,
		     unsigned int tables)
{
	int r;

	*translation = (struct translation){ .view = view,
					     .segment = segment,
					     .end_slot = part->source.end_slot };
	r = new_ids(translation, SEGMENT_TEXT, tables, &translation->texts);
	if (r == 0)
		r = new_ids(translation, SEGMENT_LABEL, tables, &translation->labels);
	if (r == 0)
		r = new_ids(translation, SEGMENT_HOST, tables, &translation->hosts);
	if (r == 0)
		r = new_ids(translation, SEGMENT_OBJECT, tables, &translation->objects);
	if (r == 0)
		r = new_ids(translation, SEGMENT_PATH, tables, &translation->paths);
	if (r == 0)
		r = new_ids(translation, SEGMENT_PROCESS, tables, &translation->processes);
	if (r == 0)
		r = new_ids(translation, SEGMENT_FRAME, tables, &translation->frames);
	if (r == 0)
		r = new_ids(translation, SEGMENT_NODE, tables, &translation->nodes);
	if (r == 0)
		r = new_ids(translation, SEGMENT_NODE, tables, &translation->climb);
	if (r == 0)
		r = new_ids(translation, SEGMENT_STACK, tables, &translation->stacks);
	return r;
}

int translate_text(struct translation *translation, uint64_t row, string_id *ret_id)
{
	uint32_t *known = &translation->texts[row];
	struct bytes_view text;
	string_id id;
	int r;

	if (*known == 0) {
		text = segment_text(translation->segment, row);
		r = string_table_intern(translation->view->texts, (const char *)text.data,
					text.size, &id);
		if (r < 0)
			return -ENOMEM;
		*known = id + 1;
	}
	*ret_id = *known - 1;
	return 0;
}

/* Appends an item to a list: @words[0] and @words[3] are the list before and its length. */
static int add_list_item(struct tuple_table *lists, uint32_t words[4], uint32_t max_length,
			 uint32_t *ret_id)
{
	words[3] = words[0] ? tuple_table_words(lists, words[0])[3] + 1 : 1;
	return words[3] > max_length ? -EBADMSG : tuple_table_add(lists, words, ret_id);
}

int translate_labels(struct translation *translation)
{
	const uint64_t *const *column = translation->segment->column;

	for (size_t i = 0; i < translation->segment->count[SEGMENT_LABEL]; i++) {
		uint64_t next = column[LABEL_NEXT][i];
		uint32_t words[4] = { next ? translation->labels[next - 1] : 0 };
		int r = translate_text(translation, column[LABEL_NAME][i], &words[1]);

		if (r == 0)
			r = translate_text(translation, column[LABEL_VALUE][i], &words[2]);
		if (r == 0)
			r = add_list_item(&translation->view->labels, words, VIEW_MAX_LABELS,
					  &translation->labels[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Of a new list of paths: adds the hash of its last item to the sums of the list before. */
static void add_path_sum(struct segment_view *view, const uint32_t words[4])
{
	const struct path_sum *before = words[0] ? &view->path_sums.items[words[0] - 1] : NULL;
	struct path_sum sum = {};

	for (unsigned int i = 0; i < ARRAY_SIZE(sum.sums); i++)
		sum.sums[i] = (before ? before->sums[i] : 0) +
			      hash64_seeded(words + 1, 2 * sizeof(*words), view->path_seeds[i]);
	view->path_sums.items[view->path_sums.count++] = sum;
}

int translate_paths(struct translation *translation)
{
	const uint64_t *const *column = translation->segment->column;
	struct segment_view *view = translation->view;

	for (size_t i = 0; i < translation->segment->count[SEGMENT_PATH]; i++) {
		uint64_t next = column[PATH_NEXT][i];
		uint32_t words[4] = { next ? translation->paths[next - 1] : 0 };
		int r = translate_object(translation, column[PATH_OBJECT][i], &words[1]);

		if (r == 0)
			r = translate_text(translation, column[PATH_PATH][i], &words[2]);
		if (r == 0)
			r = vec_reserve(&view->path_sums, 1);
		if (r == 0)
			r = add_list_item(&view->paths, words, VIEW_MAX_PATHS,
					  &translation->paths[i]);
		if (r < 0)
			return r;
		if (r > 0)
			add_path_sum(view, words);
		view->objects.items[words[1] - 1].path = words[2];
	}
	return 0;
}

static void complete_text(const struct segment_view *view, uint32_t *text, uint32_t other)
{
	if (!*text || string_table_length(view->texts, *text) == 0)
		*text = other;
}

/*
 * A definition may lack the load segments or the name. The definition as a kernel counts before
 * that of a process that maps the same file.
 */
static void complete_object(const struct segment_view *view, struct view_object *object,
			    const struct view_object *other)
{
	const struct view_object first = *object;

	if (first.role == ROLE_USER && other->role != ROLE_USER) {
		*object = *other;
		other = &first;
	}
	complete_text(view, &object->name, other->name);
	complete_text(view, &object->attributes, other->attributes);
}

static int add_object(struct segment_view *view, const struct view_object *object, uint32_t *ret_id)
{
	const uint32_t words[] = { (uint32_t)object->class, object->id };
	int r;

	r = vec_reserve(&view->objects, 1);
	if (r == 0)
		r = tuple_table_add(&view->object_ids, words, ret_id);
	if (r > 0)
		view->objects.items[view->objects.count++] = *object;
	else if (r == 0)
		complete_object(view, &view->objects.items[*ret_id - 1], object);
	return MIN(r, 0);
}

int segment_view_add_executable(struct segment_view *view, const struct segment_view_file *file,
				uint32_t *ret_id)
{
	const struct executable_id *identity = &file->identity;
	const char *name = file->name ? file->name : "", *path = file->path ? file->path : "";
	struct view_object object = { .class = identity->kind, .role = file->role };
	string_id path_id;
	int r;

	r = string_table_intern(view->texts, (const char *)identity->bytes, identity->size,
				&object.id);
	if (r == 0)
		r = string_table_intern(view->texts, name, strlen(name), &object.name);
	if (r == 0)
		r = string_table_intern(view->texts, path, strlen(path), &path_id);
	if (r == 0)
		r = add_object(view, &object, ret_id);
	if (r == 0 && !view->objects.items[*ret_id - 1].path)
		view->objects.items[*ret_id - 1].path = path_id;
	return r;
}

int translate_object(struct translation *translation, uint64_t row, uint32_t *ret_id)
{
	const uint64_t *const *column = translation->segment->column;
	struct view_object object = { .class = column[OBJECT_CLASS][row] };
	uint32_t *known = &translation->objects[row];
	int r = 0;

	if (*known == 0) {
		if (object.class > UINT8_MAX || column[OBJECT_ROLE][row] > UINT8_MAX)
			return -EBADMSG;
		object.role = (uint32_t)column[OBJECT_ROLE][row];
		r = translate_text(translation, column[OBJECT_ID][row], &object.id);
		if (r == 0)
			r = translate_text(translation, column[OBJECT_NAME][row], &object.name);
		if (r == 0)
			r = translate_text(translation, column[OBJECT_ATTRIBUTES][row],
					   &object.attributes);
		if (r == 0)
			r = add_object(translation->view, &object, known);
	}
	*ret_id = *known;
	return r;
}

static int add_host(struct segment_view *view, const struct view_host *host, uint32_t *ret_id)
{
	int r = vec_reserve(&view->hosts, 1);

	if (r == 0)
		r = tuple_table_add(&view->host_ids, &host->agent, ret_id);
	if (r > 0)
		view->hosts.items[view->hosts.count++] = *host;
	else if (r == 0 && host->end_slot > view->hosts.items[*ret_id - 1].end_slot)
		view->hosts.items[*ret_id - 1] = *host;
	return MIN(r, 0);
}

int segment_view_add_host(struct segment_view *view, const struct hash128 *agent, uint32_t *ret_id)
{
	struct view_host host = {};
	int r = string_table_intern(view->texts, (const char *)agent, sizeof(*agent), &host.agent);

	return r < 0 ? r : add_host(view, &host, ret_id);
}

bool segment_view_agent_of(const struct segment_view *view, uint32_t host,
			   struct hash128 *ret_agent)
{
	string_id agent;

	if (host == 0 || host > view->hosts.count)
		return false;
	agent = view->hosts.items[host - 1].agent;
	if (string_table_length(view->texts, agent) != sizeof(*ret_agent))
		return false;
	memcpy(ret_agent, view_text(view, agent), sizeof(*ret_agent));
	return true;
}

static int translate_host(struct translation *translation, uint64_t row, uint32_t *ret_id)
{
	const uint64_t *const *column = translation->segment->column;
	struct view_host host = { .end_slot = translation->end_slot };
	uint64_t labels = column[HOST_LABELS][row];
	uint32_t *known = &translation->hosts[row];
	int r = 0;

	if (*known == 0) {
		host.labels = labels ? translation->labels[labels - 1] : 0;
		r = translate_text(translation, column[HOST_ID][row], &host.agent);
		if (r == 0)
			r = translate_text(translation, column[HOST_NAME][row], &host.name);
		if (r == 0)
			r = add_host(translation->view, &host, known);
	}
	*ret_id = *known;
	return r;
}

static int read_process(struct translation *translation, uint64_t row, struct view_process *process)
{
	const uint64_t *const *column = translation->segment->column;
	uint64_t object = column[PROCESS_MAIN_OBJECT][row], paths = column[PROCESS_PATHS][row];
	uint64_t labels = column[PROCESS_LABELS][row];
	int r;

	if (column[PROCESS_PID][row] > UINT32_MAX)
		return -EBADMSG;
	*process = (struct view_process){
		.pid = (uint32_t)column[PROCESS_PID][row],
		.start_time_ns = column[PROCESS_START_TIME_NS][row],
		.flags = column[PROCESS_FLAGS][row],
		.paths = paths ? translation->paths[paths - 1] : 0,
		.labels = labels ? translation->labels[labels - 1] : 0,
		.end_slot = translation->process_ends[row],
	};
	r = translate_host(translation, column[PROCESS_HOST][row], &process->host);
	if (r == 0)
		r = translate_text(translation, column[PROCESS_NAME][row], &process->name);
	if (r == 0)
		r = translate_text(translation, column[PROCESS_EXECUTABLE_PATH][row],
				   &process->executable_path);
	if (r == 0 && object)
		r = translate_object(translation, object - 1, &process->main_object);
	return r;
}

/*
 * Adds processes that were read. A process whose description changed, for example because its Pod
 * was found later, has several rows, also in one part. The latest samples have the newest
 * description, which replaces the others.
 */
static int add_processes(struct segment_view *view, const struct view_process *processes, size_t n,
			 uint32_t *ret_ids)
{
	uint32_t words[PROCESS_GROUP][PROCESS_WORDS];
	int r = vec_reserve(&view->processes, n);

	for (size_t i = 0; i < n; i++) {
		const struct view_process *process = &processes[i];

		words[i][0] = process->host;
		words[i][1] = process->pid;
		words[i][2] = (uint32_t)process->start_time_ns;
		words[i][3] = (uint32_t)(process->start_time_ns >> 32);
		words[i][4] = process->name;
		words[i][5] = process->main_object;
	}
	if (r == 0)
		r = tuple_table_add_all(&view->process_ids, words[0], n, ret_ids);
	for (size_t i = 0; i < n && r == 0; i++) {
		if (ret_ids[i] > view->processes.count)
			view->processes.items[view->processes.count++] = processes[i];
		else if (processes[i].end_slot > view->processes.items[ret_ids[i] - 1].end_slot)
			view->processes.items[ret_ids[i] - 1] = processes[i];
	}
	return r;
}

int translate_processes(struct translation *translation)
{
	struct view_process processes[PROCESS_GROUP];
	size_t count = translation->segment->count[SEGMENT_PROCESS];
	int r = 0;

	for (size_t row = 0, n; row < count && r == 0; row += n) {
		n = MIN(count - row, PROCESS_GROUP);
		for (size_t i = 0; i < n && r == 0; i++)
			r = read_process(translation, row + i, &processes[i]);
		if (r == 0)
			r = add_processes(translation->view, processes, n,
					  &translation->processes[row]);
	}
	return r;
}
