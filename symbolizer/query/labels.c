/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/labels.h"

#include <string.h>

#include "common/vec.h"
#include "symbolizer/query/filter/label_selector.h"
#include "symbolizer/query/filter/tags.h"
#include "symbolizer/query/profile_type.h"
#include "symbolizer/query/selection.h"

/* Tags that every series may have, beside its labels. */
static const char *const tag_names[] = {
	"host", "host_ip", "process_id", "thread", "tid", "cpu", "kernel_release", "architecture",
};

VEC_DEFINE(name_vec, const char *);

static int compare_texts(const char *a, const char *b)
{
	if (!a || !b)
		return !a - !b;
	return strcmp(a, b);
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int add_labels(struct name_vec *names, const struct label *labels, uint32_t count)
{
	int r = 0;

	for (uint32_t i = 0; i < count && r == 0; i++) {
		bool known = false;

		for (size_t k = 0; k < names->count && !known; k++)
			known = strcmp(names->items[k], labels[i].name) == 0;
		if (!known)
			r = vec_push(names, labels[i].name);
	}
	return r;
}

static int collect_names(const struct selection *selection, struct name_vec *names)
{
	const struct store_process *previous = NULL;
	int r;

	r = vec_push(names, LABEL_SERVICE_NAME);
	if (r == 0)
		r = vec_push(names, LABEL_PROFILE_TYPE);
	for (size_t k = 0; k < ARRAY_SIZE(tag_names) && r == 0; k++) {
		const char *const *values;
		bool found = false;

		for (size_t i = 0; i < selection->n_series && !found; i++) {
			struct series_tags tags = { .series = &selection->series[i] };

			found = series_tag_values(&tags, tag_names[k], &values) > 0;
		}
		r = found ? vec_push(names, tag_names[k]) : 0;
	}
	for (size_t i = 0; i < selection->n_series && r == 0; i++) {
		const struct store_series *series = &selection->series[i];

		r = add_labels(names, series->labels, series->n_labels);
		if (r == 0 && series->process != previous)
			r = add_labels(names, series->process->labels, series->process->n_labels);
		if (r == 0 && (!previous || series->process->host != previous->host))
			r = add_labels(names, series->process->host->labels,
				       series->process->host->n_labels);
		previous = series->process;
	}
	return r;
}

int labels_list_names(struct store_view *view, const struct profile_request *request,
		      struct arena *arena, const char ***ret_names, size_t *ret_count,
		      char ret_message[PROFILE_MESSAGE_SIZE])
{
	struct selection selection = {};
	struct name_vec names = {};
	int r;

	*ret_names = NULL;
	*ret_count = 0;
	r = selection_make(view, request, arena, &selection, ret_message);
	if (r <= 0)
		return r;
	r = collect_names(&selection, &names);
	if (r == 0) {
		qsort(names.items, names.count, sizeof(*names.items), compare_names);
		*ret_names = arena_copy(arena, names.items, names.count * sizeof(*names.items));
		*ret_count = names.count;
		r = *ret_names ? 0 : -ENOMEM;
	}
	vec_release(&names);
	return r;
}

/* A combination with the number of its values, for comparisons. */
struct counted {
	struct label_combination combination;
	size_t n_values;
};

static int compare_combinations(const void *left, const void *right)
{
	const struct counted *a = left, *b = right;
	int order = 0;

	for (size_t i = 0; i < a->n_values && order == 0; i++)
		order = compare_texts(a->combination.values[i], b->combination.values[i]);
	return order;
}

static int value_of(const struct store_series *series, const char *label, struct arena *arena,
		    const char **ret_value)
{
	char id[PROFILE_TYPE_ID_SIZE];

	if (strcmp(label, LABEL_PROFILE_TYPE) != 0)
		return series_tag_join(series, label_tag(label), arena, ret_value);
	profile_type_id(store_series_event(series), id);
	*ret_value = arena_format(arena, "%s", id);
	return *ret_value ? 0 : -ENOMEM;
}

int labels_list_values(struct store_view *view, const struct profile_request *request,
		       const char *const *labels, size_t n_labels, struct arena *arena,
		       struct label_combination **ret_items, size_t *ret_count,
		       char ret_message[PROFILE_MESSAGE_SIZE])
{
	struct selection selection = {};
	struct counted *counted;
	size_t kept = 0;
	int r;

	*ret_items = NULL;
	*ret_count = 0;
	r = selection_make(view, request, arena, &selection, ret_message);
	if (r <= 0)
		return r;
	counted = arena_alloc_array(arena, selection.n_series, sizeof(*counted));
	*ret_items = arena_alloc_array(arena, selection.n_series, sizeof(**ret_items));
	if (!counted || !*ret_items)
		return -ENOMEM;
	for (size_t i = 0; i < selection.n_series; i++) {
		const char **values = arena_alloc_array(arena, n_labels + 1, sizeof(*values));

		if (!values)
			return -ENOMEM;
		counted[i] = (struct counted){ { values }, n_labels };
		for (size_t k = 0; k < n_labels; k++) {
			r = value_of(&selection.series[i], labels[k], arena, &values[k]);
			if (r < 0)
				return r;
		}
	}
	qsort(counted, selection.n_series, sizeof(*counted), compare_combinations);
	for (size_t i = 0; i < selection.n_series; i++) {
		if (i == 0 || compare_combinations(&counted[i], &counted[i - 1]) != 0)
			(*ret_items)[kept++] = counted[i].combination;
	}
	*ret_count = kept;
	return 0;
}
