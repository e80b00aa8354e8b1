/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part gives the ID and the range of time of each of its series once. All later questions use
 * these, so that parts without a selected series are not decoded again.
 */

#include "symbolizer/store/segment_view/part_rows.h"
#include "symbolizer/store/segment_view/segment_view_private.h"

#include <string.h>

#define DEFINITION_TABLES                                                                          \
	(SEGMENT_SET(SEGMENT_TEXT) | SEGMENT_SET(SEGMENT_LABEL) | SEGMENT_SET(SEGMENT_HOST) |      \
	 SEGMENT_SET(SEGMENT_OBJECT) | SEGMENT_SET(SEGMENT_PATH) | SEGMENT_SET(SEGMENT_PROCESS) |  \
	 SEGMENT_SET(SEGMENT_SERIES))

#define SERIES_GROUP 64U

/* Event types are identified by their names. Known ones are few, and always have room. */
static int find_event(struct segment_view *view, string_id name, string_id unit, uint64_t kind,
		      uint32_t *ret_index)
{
	const char *text = view_text(view, name);
	const struct event_type_info *known = event_type_info(event_type_from_name(text));
	struct event_type_info *info;

	for (size_t i = 0; i < view->events.count; i++) {
		if (strcmp(view->events.items[i]->name, text) == 0) {
			*ret_index = (uint32_t)i;
			return 0;
		}
	}
	if (kind == 0 || kind >= EVENT_VALUE_KIND_END ||
	    (!known && view->events.count >= VIEW_MAX_EVENT_TYPES))
		return -EBADMSG;
	*ret_index = (uint32_t)view->events.count;
	if (known)
		return vec_push(&view->events, known);
	info = arena_alloc(view->arena, sizeof(*info));
	if (!info)
		return -ENOMEM;
	*info = (struct event_type_info){
		.type = (enum event_type)(EVENT_FIRST_STORED + view->events.count),
		.name = text,
		.unit = view_text(view, unit),
		.kind = (enum event_value_kind)kind,
	};
	return vec_push(&view->events, info);
}

static int add_head(struct segment_view *view, const struct view_head *head, uint32_t *ret_id)
{
	const uint32_t words[] = { head->service, head->event };
	int r = vec_reserve(&view->heads, 1);

	if (r == 0)
		r = tuple_table_add(&view->head_ids, words, ret_id);
	if (r > 0)
		view->heads.items[view->heads.count++] = *head;
	return MIN(r, 0);
}

/* 1; 0: another tenant; -EBADMSG; -ENOMEM. */
static int translate_head(struct translation *translation, struct view_part *part)
{
	const uint64_t *const *column = translation->segment->column;
	const char *tenant = translation->view->options.store.tenant;
	struct bytes_view text = segment_text(translation->segment, column[HEAD_TENANT][0]);
	string_id event, unit;
	struct view_head head = {};
	int r;

	if (column[HEAD_KIND][0] > SEGMENT_ROLLUP)
		return -EBADMSG;
	part->is_rollup = column[HEAD_KIND][0] == SEGMENT_ROLLUP;
	part->is_read = true;
	if (text.size != strlen(tenant) || memcmp(text.data, tenant, text.size) != 0)
		return 0;
	r = translate_text(translation, column[HEAD_SERVICE][0], &head.service);
	if (r == 0)
		r = translate_text(translation, column[HEAD_EVENT][0], &event);
	if (r == 0)
		r = translate_text(translation, column[HEAD_UNIT][0], &unit);
	if (r == 0)
		r = find_event(translation->view, event, unit, column[HEAD_EVENT_KIND][0],
			       &head.event);
	if (r == 0)
		r = add_head(translation->view, &head, &part->head);
	return r < 0 ? r : 1;
}

static int intern(struct segment_view *view, const char *text, string_id *ret_id)
{
	return string_table_intern(view->texts, text, strlen(text), ret_id);
}

static int find_event_of(struct segment_view *view, const struct segment_part_head *head,
			 uint32_t *ret_index)
{
	string_id event, unit;
	int r = intern(view, head->event, &event);

	if (r == 0)
		r = intern(view, head->unit, &unit);
	return r < 0 ? r : find_event(view, event, unit, head->event_kind, ret_index);
}

int segment_view_add_event(struct segment_view *view, const struct segment_part_head *head,
			   struct event_type_info *ret_info)
{
	uint32_t index;
	int r = find_event_of(view, head, &index);

	if (r < 0)
		return r == -EBADMSG ? -EINVAL : r;
	*ret_info = *view->events.items[index];
	return 0;
}

/* Of a part whose head is known. */
static int use_known_head(struct segment_view *view, struct view_part *part)
{
	const struct segment_part_head *known = part->source.head;
	struct view_head head = {};
	int r = intern(view, known->service, &head.service);

	part->is_rollup = known->kind == SEGMENT_ROLLUP;
	part->is_read = true;
	if (r == 0)
		r = find_event_of(view, known, &head.event);
	if (r == 0)
		r = add_head(view, &head, &part->head);
	return r < 0 ? r : 1;
}

/* As view_read_head(), of a part that is not read yet. */
static int read_head(struct segment_view *view, struct view_part *part)
{
	struct translation translation;
	struct segment segment;
	int r;

	if (part->source.head)
		return view_check(view, part, use_known_head(view, part));
	r = view_load(view, part, VIEW_HEAD_COLUMNS, &segment);
	if (r <= 0)
		return r;
	r = translation_init(&translation, view, part, &segment, SEGMENT_SET(SEGMENT_TEXT));
	if (r == 0)
		r = view_check(view, part, translate_head(&translation, part));
	return r;
}

int view_read_head(struct segment_view *view, struct view_part *part)
{
	uint32_t *first;
	int r;

	if (part->is_read || part->is_damaged)
		return part->head && !part->is_damaged;
	r = read_head(view, part);
	if (r <= 0 || !part->is_rollup)
		return r;
	first = &view->heads.items[part->head - 1].first_rollup;
	part->next_rollup = *first;
	*first = (uint32_t)(part - view->parts.items) + 1;
	return r;
}

int view_read_heads(struct segment_view *view)
{
	for (; view->n_heads_read < view->parts.count; view->n_heads_read++) {
		int r = view_read_head(view, &view->parts.items[view->n_heads_read]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* @words: see segment_view.series. */
static int translate_series(struct translation *translation, uint64_t row, uint32_t event,
			    uint32_t words[8])
{
	const uint64_t *const *column = translation->segment->column;
	uint64_t period = column[SERIES_PERIOD_NS][row], labels = column[SERIES_LABELS][row];

	if (column[SERIES_TID][row] > UINT32_MAX || column[SERIES_CPU_PLUS_ONE][row] > INT32_MAX)
		return -EBADMSG;
	words[1] = (uint32_t)column[SERIES_TID][row];
	words[3] = (uint32_t)column[SERIES_CPU_PLUS_ONE][row];
	words[4] = (uint32_t)period;
	words[5] = (uint32_t)(period >> 32);
	words[6] = labels ? translation->labels[labels - 1] : 0;
	words[7] = event;
	words[0] = translation->processes[column[SERIES_PROCESS][row]];
	return translate_text(translation, column[SERIES_THREAD_NAME][row], &words[2]);
}

/* Sets the range of time of each series. Rows of a series are sorted by time. */
static void find_slots(const struct segment *segment, struct part_series *series, size_t n_series)
{
	const uint64_t *of_row = segment->column[ROW_SERIES], *slots = segment->column[ROW_SLOT];
	size_t n_rows = segment->count[SEGMENT_ROW];
	size_t row = rows_lower_bound(of_row, 0, n_rows, 1);

	for (size_t i = 0; i < n_series && row < n_rows; i++) {
		size_t end = rows_lower_bound(of_row, row, n_rows, i + 2);

		if (end > row) {
			series[i].first_slot = slots[row];
			series[i].last_slot = slots[end - 1];
		}
		row = end;
	}
}

static void find_slots_of_totals(const struct segment *segment, struct part_series *series)
{
	const uint64_t *const *column = segment->column;

	for (size_t i = 0; i < segment->count[SEGMENT_TOTAL]; i++) {
		struct part_series *of = &series[column[TOTAL_SERIES][i]];

		of->first_slot = MIN(of->first_slot, column[TOTAL_FIRST_SLOT][i]);
		of->last_slot = MAX(of->last_slot, column[TOTAL_LAST_SLOT][i]);
	}
}

/* Finds when each series has samples, and until when each row of PROCESS describes samples. */
static int find_ranges(struct translation *translation, const struct view_part *part,
		       struct part_series *series)
{
	const struct segment *segment = translation->segment;
	const uint64_t *process = segment->column[SERIES_PROCESS];
	const size_t count = segment->count[SEGMENT_SERIES];
	uint64_t *ends = arena_alloc_array(translation->view->scratch,
					   segment->count[SEGMENT_PROCESS], sizeof(*ends));

	if (!ends)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		series[i] = (struct part_series){ .first_slot = UINT64_MAX };
	if (!view_lacks_ranges(part, segment))
		find_slots_of_totals(segment, series);
	else
		find_slots(segment, series, count);
	for (size_t i = 0; i < count; i++)
		if (series[i].first_slot != UINT64_MAX)
			ends[process[i]] = MAX(ends[process[i]], series[i].last_slot + 1);
	translation->process_ends = ends;
	return 0;
}

static int translate_group(struct translation *translation, size_t row, size_t n, uint32_t event,
			   struct part_series *series)
{
	uint32_t words[SERIES_GROUP][8], ids[SERIES_GROUP];
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = translate_series(translation, row + i, event, words[i]);
	if (r == 0)
		r = tuple_table_add_all(&translation->view->series, words[0], n, ids);
	for (size_t i = 0; i < n && r == 0; i++)
		series[i].id = ids[i];
	return r;
}

static int translate_all_series(struct translation *translation, struct view_part *part)
{
	const struct segment *segment = translation->segment;
	struct segment_view *view = translation->view;
	size_t count = segment->count[SEGMENT_SERIES];
	struct part_series *series = arena_alloc_array(view->arena, count, sizeof(*series));
	int r = series ? 0 : -ENOMEM;

	if (r == 0)
		r = find_ranges(translation, part, series);
	if (r == 0)
		r = translate_labels(translation);
	if (r == 0)
		r = translate_paths(translation);
	if (r == 0)
		r = translate_processes(translation);
	for (size_t row = 0, n; row < count && r == 0; row += n) {
		n = MIN(count - row, SERIES_GROUP);
		r = translate_group(translation, row, n, view->heads.items[part->head - 1].event,
				    series + row);
	}
	if (r < 0)
		return r;
	part->series = series;
	part->n_series = count;
	return 0;
}

int view_read_series(struct segment_view *view, struct view_part *part)
{
	uint64_t columns = view_columns(DEFINITION_TABLES);
	struct translation translation;
	struct segment segment;
	int r;

	if (part->series && !part->is_damaged)
		return 1;
	r = view_read_head(view, part);
	if (r <= 0)
		return r;
	columns |= VIEW_TOTAL_RANGE_COLUMNS;
	r = view_load(view, part, columns, &segment);
	if (r > 0 && view_lacks_ranges(part, &segment))
		r = view_load(view, part, columns | VIEW_RANGE_COLUMNS, &segment);
	if (r <= 0)
		return r;
	r = translation_init(&translation, view, part, &segment, DEFINITION_TABLES);
	if (r == 0)
		r = view_check(view, part, translate_all_series(&translation, part));
	if (r == 0)
		r = view_account(view);
	return r < 0 ? r : !part->is_damaged;
}
