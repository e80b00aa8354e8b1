/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/import/otlp_labels.h"

#include <stdio.h>
#include <string.h>

/*
 * Attributes of a resource that are read, and of a sample: a process has no more labels. Each
 * attribute is compared with all others of its process.
 */
#define MAX_ATTRIBUTES MAX_LABELS_PER_PROCESS

enum scope {
	SCOPE_NOTHING, /* not kept */
	SCOPE_SERIES,
	SCOPE_PROCESS,
	SCOPE_THREAD_NAME,
	SCOPE_THREAD_ID,
};

struct otlp_cached_attribute {
	uint32_t stamp;
	uint32_t tid;
	enum scope scope;
	struct foreign_label label;
};

/* Our names of labels; NULL: the value is stored otherwise. Other names are kept. */
static const struct {
	const char *theirs, *ours;
} names[] = {
	{ "service.version", "version" },
	{ "container.id", "container_id" },
	{ "k8s.pod.name", "pod" },
	{ "k8s.namespace.name", "pod_ns" },
	{ "k8s.cluster.name", "pod_cluster" },
	{ "k8s.node.name", "pod_node" },
	{ "service.name", NULL },
	{ "host.name", NULL },
	{ "process.pid", NULL },
};

/* Of nearly each sample another one. */
static const char *const left_out[] = { "trace_id", "span_id", "trace.id", "span.id",
					"profile_id" };

static const char *const process_prefixes[] = { "process.", "service.", "container.", "k8s.",
						"host." };

/* Labels of a thread, although their names begin like those of a process. */
#define CONTEXT_PREFIX "process.context."

void otlp_labels_release(struct otlp_labels *labels)
{
	vec_release(&labels->of_resource);
	vec_release(&labels->of_process);
	vec_release(&labels->of_sample);
	vec_release(&labels->of_series);
	id_map_release(&labels->processes);
}

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_process_attribute(const char *key)
{
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(process_prefixes) && !found; i++)
		found = begins_with(key, process_prefixes[i]);
	return found && !begins_with(key, CONTEXT_PREFIX);
}

static bool is_left_out(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(left_out); i++)
		if (strcmp(key, left_out[i]) == 0)
			return true;
	return false;
}

/* The text of a value. *ret_text is NULL for lists and the like. @number has 24 bytes. */
static int text_of(struct otlp_labels *labels, const Otlp__AnyValue *value, const char *key,
		   char *number, const char **ret_text)
{
	*ret_text = NULL;
	if (!value)
		return 0;
	switch (value->value_case) {
	case OTLP__ANY_VALUE__VALUE_STRING_VALUE:
		*ret_text = value->string_value;
		return 0;
	case OTLP__ANY_VALUE__VALUE_BOOL_VALUE:
		*ret_text = value->bool_value ? "true" : "false";
		return 0;
	case OTLP__ANY_VALUE__VALUE_INT_VALUE:
		(void)snprintf(number, 24, "%lld", (long long)value->int_value);
		*ret_text = number;
		return 0;
	case OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX:
		*ret_text = otlp_string(labels->tables, value->string_value_strindex);
		if (*ret_text)
			return 0;
		return foreign_bad(labels->profile,
				   "attribute '%.64s': string_value_strindex: string %d of %zu",
				   key, value->string_value_strindex, labels->tables->n_strings);
	default:
		return 0;
	}
}

static int make_label(struct otlp_labels *labels, const char *key, const char *value,
		      struct foreign_label *ret_label)
{
	int r = foreign_text(labels->profile, key, strlen(key), &ret_label->name);

	return r < 0 ? r : foreign_text(labels->profile, value, strlen(value), &ret_label->value);
}

/* Adds a label, or replaces the one with this name. */
static int set_label(struct foreign_label_vec *labels, struct foreign_label label)
{
	for (size_t i = 0; i < labels->count; i++)
		if (labels->items[i].name == label.name) {
			labels->items[i].value = label.value;
			return 0;
		}
	return vec_push(labels, label);
}

static int read_resource_attribute(struct otlp_labels *labels, const Otlp__KeyValue *attribute)
{
	const char *key = attribute->key[0] ? attribute->key
					    : otlp_string(labels->tables, attribute->key_strindex);
	struct foreign_label label;
	const char *value;
	char number[24];
	int r;

	if (!key)
		return foreign_bad(labels->profile,
				   "resource.attributes.key_strindex: string %d of %zu",
				   attribute->key_strindex, labels->tables->n_strings);
	r = text_of(labels, attribute->value, key, number, &value);
	if (r == 0 && !value)
		labels->profile->n_labels_left_out++;
	if (r < 0 || !value)
		return r;
	r = make_label(labels, key, value, &label);
	return r < 0 ? r : set_label(&labels->of_resource, label);
}

int otlp_labels_begin(struct otlp_labels *labels, struct foreign_profile *profile,
		      const struct otlp_tables *tables, const struct otlp_resource *resource)
{
	const size_t count = MIN(resource->n_attributes, (size_t)MAX_ATTRIBUTES);
	int r = 0;

	labels->profile = profile;
	labels->resource = resource;
	labels->stamp++;
	id_map_release(&labels->processes);
	id_map_init(&labels->processes);
	if (labels->tables != tables) {
		labels->tables = tables;
		labels->attributes = arena_alloc_array(profile->arena, tables->n_attributes + 1,
						       sizeof(*labels->attributes));
		if (!labels->attributes)
			return foreign_no_room(profile);
	}
	vec_clear(&labels->of_resource);
	for (size_t i = 0; i < count && r == 0; i++)
		r = read_resource_attribute(labels, resource->attributes[i]);
	profile->n_labels_left_out += resource->n_attributes - count;
	return r;
}

static enum scope scope_of(const char *key, const Otlp__AnyValue *value, const char *text)
{
	const bool is_number = value && value->value_case == OTLP__ANY_VALUE__VALUE_INT_VALUE;

	if (!text)
		return SCOPE_NOTHING;
	if (strcmp(key, "thread.id") == 0)
		return is_number && value->int_value > 0 && value->int_value <= INT32_MAX
			       ? SCOPE_THREAD_ID
			       : SCOPE_NOTHING;
	if (strcmp(key, "thread.name") == 0)
		return SCOPE_THREAD_NAME;
	if (is_process_attribute(key))
		return SCOPE_PROCESS;
	return is_number || is_left_out(key) ? SCOPE_NOTHING : SCOPE_SERIES;
}

static int read_attribute(struct otlp_labels *labels, uint32_t index,
			  struct otlp_cached_attribute *cached)
{
	const struct otlp_attribute *attribute = &labels->tables->attributes[index];
	const char *text;
	char number[24];
	int r = text_of(labels, attribute->value, attribute->key, number, &text);

	if (r < 0)
		return r;
	cached->scope = scope_of(attribute->key, attribute->value, text);
	if (cached->scope == SCOPE_THREAD_ID)
		cached->tid = (uint32_t)attribute->value->int_value;
	if (cached->scope != SCOPE_NOTHING)
		r = make_label(labels, attribute->key, text, &cached->label);
	if (r == 0)
		cached->stamp = labels->stamp;
	return r;
}

/* *ret_attribute lives until the next profile. */
static int attribute_at(struct otlp_labels *labels, const struct otlp_sample *sample, size_t index,
			size_t i, const struct otlp_cached_attribute **ret_attribute)
{
	const int32_t attribute = sample->attributes.items[i];
	struct otlp_cached_attribute *cached;

	if (attribute < 0 || (uint32_t)attribute >= labels->tables->n_attributes)
		return foreign_bad(labels->profile,
				   "samples[%zu].attribute_indices[%zu]: attribute %d of %zu",
				   index, i, attribute, labels->tables->n_attributes);
	cached = &labels->attributes[attribute];
	*ret_attribute = cached;
	return cached->stamp == labels->stamp ? 0
					      : read_attribute(labels, (uint32_t)attribute, cached);
}

/* Replaces OTLP's names by ours, and drops what is stored otherwise. */
static int rename_labels(struct otlp_labels *labels, struct foreign_label_vec *renamed)
{
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; i < renamed->count && r == 0; i++) {
		struct foreign_label label = renamed->items[i];
		const char *name = string_table_text(labels->profile->texts, label.name);
		bool is_kept = true;

		for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
			if (strcmp(name, names[k].theirs) != 0)
				continue;
			is_kept = names[k].ours != NULL;
			if (is_kept)
				r = foreign_text(labels->profile, names[k].ours,
						 strlen(names[k].ours), &label.name);
			break;
		}
		if (is_kept)
			renamed->items[count++] = label;
	}
	renamed->count = count;
	return r;
}

/* Makes the process with the labels of_process. */
static int make_process(struct otlp_labels *labels, uint32_t *ret_number)
{
	struct foreign_profile *profile = labels->profile;
	struct foreign_label_vec *of_process = &labels->of_process;
	const struct import_sender sender = import_sender_of(profile, of_process, NULL);
	const uint32_t pid = import_pid_of(profile, of_process);
	struct foreign_label service;
	int r = make_label(labels, "service", sender.service, &service);

	if (r == 0)
		r = rename_labels(labels, of_process);
	if (r == 0)
		r = set_label(of_process, service);
	if (r == 0)
		r = foreign_sort_labels(profile, of_process, MAX_LABELS_PER_PROCESS);
	return r < 0 ? r : foreign_process(profile, service.value, pid, of_process, ret_number);
}

/* Copies the labels of the resource to of_process. */
static int begin_process(struct otlp_labels *labels)
{
	const size_t count = labels->of_resource.count;
	int r;

	vec_clear(&labels->of_process);
	r = vec_reserve(&labels->of_process, count);
	if (r < 0)
		return r;
	if (count > 0)
		memcpy(labels->of_process.items, labels->of_resource.items,
		       count * sizeof(*labels->of_process.items));
	labels->of_process.count = count;
	return 0;
}

/* The process of the resource, with the labels of_sample. Many samples have the same. */
static int find_process(struct otlp_labels *labels, uint32_t *ret_number)
{
	const struct foreign_label_vec *of_sample = &labels->of_sample;
	const struct hash128 hash =
		hash128_of(of_sample->items, of_sample->count * sizeof(*of_sample->items));
	const uint32_t *known;
	uint64_t key;
	int r;

	memcpy(&key, hash.bytes, sizeof(key));
	key = MAX(key, UINT64_C(1));
	known = id_map_find(&labels->processes, key);
	if (known) {
		*ret_number = *known;
		return 0;
	}
	r = begin_process(labels);
	for (size_t i = 0; i < of_sample->count && r == 0; i++)
		r = set_label(&labels->of_process, of_sample->items[i]);
	if (r == 0)
		r = make_process(labels, ret_number);
	return r < 0 ? r : id_map_set(&labels->processes, key, *ret_number);
}

static int take_attribute(struct otlp_labels *labels, const struct otlp_cached_attribute *attribute,
			  struct foreign_series *series)
{
	switch (attribute->scope) {
	case SCOPE_THREAD_NAME:
		series->thread_name = attribute->label.value;
		return 0;
	case SCOPE_THREAD_ID:
		series->tid = attribute->tid;
		return 0;
	case SCOPE_SERIES:
		return vec_push(&labels->of_series, attribute->label);
	case SCOPE_PROCESS:
		return vec_push(&labels->of_sample, attribute->label);
	default:
		labels->profile->n_labels_left_out++;
		return 0;
	}
}

int otlp_labels_of_sample(struct otlp_labels *labels, const struct otlp_sample *sample,
			  size_t index, struct foreign_series *series)
{
	const size_t count = MIN(sample->attributes.count, (size_t)MAX_ATTRIBUTES);
	const struct otlp_cached_attribute *attribute;
	int r = 0;

	vec_clear(&labels->of_series);
	vec_clear(&labels->of_sample);
	for (size_t i = 0; i < count && r == 0; i++) {
		r = attribute_at(labels, sample, index, i, &attribute);
		if (r == 0)
			r = take_attribute(labels, attribute, series);
	}
	labels->profile->n_labels_left_out += sample->has_link + (sample->attributes.count - count);
	if (r == 0)
		r = foreign_sort_labels(labels->profile, &labels->of_series, MAX_LABELS_PER_SERIES);
	return r < 0 ? r : find_process(labels, &series->process);
}

struct import_sender otlp_sender_of(const struct otlp_labels *labels)
{
	return import_sender_of(labels->profile, &labels->of_resource, NULL);
}
