/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/filter/tags.h"

#include <stdio.h>
#include <string.h>

#include "common/hash.h"
#include "common/hash_table.h"
#include "common/did_you_mean.h"
#include "symbolizer/query/filter/tags.def"

enum tag_source {
	SOURCE_SERVICE,
	SOURCE_PID,
	SOURCE_THREAD,
	SOURCE_TID,
	SOURCE_CPU,
	SOURCE_HOST,
	SOURCE_IP,
	SOURCE_AGENT,
	SOURCE_KERNEL,
	SOURCE_ARCHITECTURE,
	SOURCE_EVENT_TYPE,
	SOURCE_LANGUAGE,
	SOURCE_UNIT,
	SOURCE_LABEL,
	SOURCE_FOREIGN,
};

static const struct tag {
	const char *name;
	enum tag_source source;
} tags[] = {
#define X(name, source, help) { name, SOURCE_##source },
	TAGS(X)
#undef X
};

static const char *const families[] = {
#define X(prefix) prefix,
	TAG_FAMILIES(X)
#undef X
};

static const struct {
	const char *name, *tag;
} ids[] = {
#define X(name, tag) { name, tag },
	TAG_IDS(X)
#undef X
};

static const char label_prefix[] = "label.";

static const struct tag *find_tag(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		if (strcmp(tags[i].name, name) == 0)
			return &tags[i];
	}
	return NULL;
}

/* Returns the tag of which @name is DeepFlow's number, or NULL. */
static const char *tag_of_id(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		if (strcmp(ids[i].name, name) == 0)
			return ids[i].tag;
	}
	return NULL;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static const char *find_label(const struct label *labels, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(labels[i].name, name) == 0)
			return labels[i].value;
	}
	return NULL;
}

static const char *label_of(const struct store_series *series, const char *name)
{
	const struct store_process *process = series->process;
	const char *value = find_label(series->labels, series->n_labels, name);

	if (!value)
		value = find_label(process->labels, process->n_labels, name);
	if (!value)
		value = find_label(process->host->labels, process->host->n_labels, name);
	if (!value && has_prefix(name, label_prefix))
		value = label_of(series, name + strlen(label_prefix));
	return value;
}

static const char *number_text(struct series_tags *tags_of, int64_t number)
{
	(void)snprintf(tags_of->number, sizeof(tags_of->number), "%lld", (long long)number);
	return tags_of->number;
}

static const char *unit_name(const struct store_series *series)
{
	const char *unit = store_series_event(series)->unit;

	return strcmp(unit, "ns") == 0 ? "microseconds" : unit;
}

static const char *tag_value(struct series_tags *tags_of, enum tag_source source, const char *name)
{
	const struct store_series *series = tags_of->series;
	const struct store_process *process = series->process;

	switch (source) {
	case SOURCE_SERVICE:
		return process->name;
	case SOURCE_PID:
		return number_text(tags_of, process->pid);
	case SOURCE_THREAD:
		return series->thread_name;
	case SOURCE_TID:
		return number_text(tags_of, series->tid);
	case SOURCE_CPU:
		return series->cpu >= 0 ? number_text(tags_of, series->cpu) : NULL;
	case SOURCE_HOST:
		return process->host->name;
	case SOURCE_AGENT:
		return process->host->agent_id;
	case SOURCE_KERNEL:
		return process->host->kernel_release;
	case SOURCE_ARCHITECTURE:
		return process->host->architecture;
	case SOURCE_EVENT_TYPE:
		return store_series_event(series)->name;
	case SOURCE_LANGUAGE:
		return "eBPF";
	case SOURCE_UNIT:
		return unit_name(series);
	case SOURCE_LABEL:
	case SOURCE_FOREIGN:
		return label_of(series, name);
	case SOURCE_IP:
		break;
	}
	return NULL;
}

size_t series_tag_values(void *series_tags, const char *name, const char *const **ret_values)
{
	struct series_tags *tags_of = series_tags;
	const struct tag *tag = find_tag(name);
	const char *named = tag ? NULL : tag_of_id(name);

	if (named && !label_of(tags_of->series, name)) {
		name = named;
		tag = find_tag(name);
	}
	if (tag && tag->source == SOURCE_IP) {
		*ret_values = tags_of->series->process->host->ips;
		return tags_of->series->process->host->n_ips;
	}
	tags_of->value = tag_value(tags_of, tag ? tag->source : SOURCE_LABEL, name);
	*ret_values = &tags_of->value;
	return tags_of->value ? 1 : 0;
}

int series_tag_join(const struct store_series *series, const char *name, struct arena *arena,
		    const char **ret_text)
{
	struct series_tags tags_of = { .series = series };
	const char *const *values = NULL;
	size_t n_values = series_tag_values(&tags_of, name, &values);
	const char *text = NULL;

	for (size_t i = 0; i < n_values; i++) {
		text = arena_format(arena, "%s%s%s", text ? text : "", text ? "," : "", values[i]);
		if (!text)
			return -ENOMEM;
	}
	*ret_text = text;
	return 0;
}

static bool series_have_label(const struct store_series *series, size_t count, const char *name)
{
	const struct store_process *previous = NULL;

	for (size_t i = 0; i < count; i++) {
		/* The threads of a process are usually adjacent, and few series have labels. */
		if ((series[i].process != previous || series[i].n_labels > 0) &&
		    label_of(&series[i], name))
			return true;
		previous = series[i].process;
	}
	return false;
}

static bool hosts_have_label(struct tag_names *names, const char *name)
{
	const char *bare = has_prefix(name, label_prefix) ? name + strlen(label_prefix) : name;
	struct store_host *hosts;
	size_t count;
	int r;

	r = store_list_hosts(names->view, names->arena, &hosts, &count);
	if (r < 0) {
		names->error = r;
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		if (find_label(hosts[i].labels, hosts[i].n_labels, name) ||
		    find_label(hosts[i].labels, hosts[i].n_labels, bare))
			return true;
	}
	return false;
}

/* Names of labels that are read from the store for the list of known tags in a message. */
#define MAX_LISTED_LABELS 64

static bool is_label_name(struct tag_names *names, const char *name)
{
	const char **found;
	size_t count;
	int r;

	r = store_list_label_names(names->view, name, 1, names->arena, &found, &count);
	return r == 0 && count > 0 && strcmp(found[0], name) == 0;
}

/*
 * Searches the labels of all processes, including those without samples in the range. If the store
 * fails, the name counts as unknown.
 */
static bool processes_have_label(struct tag_names *names, const char *name)
{
	if (is_label_name(names, name) ||
	    (has_prefix(name, label_prefix) && is_label_name(names, name + strlen(label_prefix))))
		return true;
	if (store_list_label_names(names->view, "", MAX_LISTED_LABELS, names->arena, &names->labels,
				   &names->n_labels) < 0)
		names->n_labels = 0;
	return false;
}

bool tag_is_known(void *tag_names, const char *name)
{
	struct tag_names *names = tag_names;

	if (find_tag(name) || tag_of_id(name))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		if (has_prefix(name, families[i]) && name[strlen(families[i])] != '\0')
			return true;
	}
	return series_have_label(names->series, names->n_series, name) ||
	       hosts_have_label(names, name) || processes_have_label(names, name);
}

/* Appends ", name" if it fits and leaves room for ", ...". */
static void print_name(const char *name, char *text, size_t size)
{
	size_t used = strlen(text);

	if (used + strlen(name) + sizeof(", ...") < size)
		(void)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", name);
	else if (used >= 3 && used + sizeof(", ...") <= size && strcmp(text + used - 3, "...") != 0)
		(void)snprintf(text + used, size - used, ", ...");
}

/* Different label names that are considered for one message. A message has room for fewer. */
#define MAX_DISTINCT_LABELS 256

struct distinct_labels {
	const char *names[MAX_DISTINCT_LABELS];
	size_t count;
	struct hash_table *seen; /* set of struct hash128 */
};

static void add_distinct(struct distinct_labels *distinct, const char *name)
{
	struct hash128 hash = hash128_of(name, strlen(name));

	if (distinct->count < MAX_DISTINCT_LABELS &&
	    hash_table_insert(distinct->seen, &hash, NULL) > 0)
		distinct->names[distinct->count++] = name;
}

static void add_labels(struct distinct_labels *distinct, const struct label *labels, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		add_distinct(distinct, labels[i].name);
}

/* Thousands of processes share a few label names: each name is compared and printed once. */
static void find_distinct_labels(const struct tag_names *names, struct distinct_labels *ret)
{
	const struct store_process *previous = NULL;

	ret->count = 0;
	if (hash_table_new(sizeof(struct hash128), 0, 0, &ret->seen) < 0)
		return;
	for (size_t i = 0; i < names->n_series && ret->count < MAX_DISTINCT_LABELS; i++) {
		const struct store_process *process = names->series[i].process;

		if (process == previous)
			continue;
		add_labels(ret, process->labels, process->n_labels);
		if (!previous || process->host != previous->host)
			add_labels(ret, process->host->labels, process->host->n_labels);
		previous = process;
	}
	for (size_t i = 0; i < names->n_labels; i++)
		add_distinct(ret, names->labels[i]);
	ret->seen = hash_table_free(ret->seen);
}

static bool is_tag(const char *name)
{
	const struct tag *tag = find_tag(name);

	return tag && tag->source != SOURCE_FOREIGN;
}

void tag_names_print(const struct tag_names *names, char *ret_text, size_t size)
{
	struct distinct_labels labels;

	ret_text[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		if (tags[i].source != SOURCE_FOREIGN)
			print_name(tags[i].name, ret_text, size);
	}
	find_distinct_labels(names, &labels);
	for (size_t i = 0; i < labels.count; i++) {
		if (!is_tag(labels.names[i]))
			print_name(labels.names[i], ret_text, size);
	}
}

struct nearest {
	const char *wanted;
	const char *name;
	unsigned int distance;
};

static void consider(struct nearest *nearest, const char *name)
{
	unsigned int distance = name_distance(nearest->wanted, name);

	if (distance >= nearest->distance)
		return;
	nearest->name = name;
	nearest->distance = distance;
}

const char *tag_names_nearest(const struct tag_names *names, const char *name)
{
	/* A name that differs in more than half of its letters is no suggestion. */
	unsigned int limit = (unsigned int)strnlen(name, DID_YOU_MEAN_MAX_BYTES) / 2 + 1;
	struct nearest nearest = { .wanted = name, .distance = limit };
	struct distinct_labels labels;

	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		if (tags[i].source != SOURCE_FOREIGN)
			consider(&nearest, tags[i].name);
	}
	find_distinct_labels(names, &labels);
	for (size_t i = 0; i < labels.count; i++)
		consider(&nearest, labels.names[i]);
	return nearest.name;
}
