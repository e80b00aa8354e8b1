/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of the Pod of a process, which follow those of its cgroup. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/process/process_image.h"
#include "agent/process/process_labels.h"

struct pod_labels {
	struct string_table *strings;
	struct process_label items[PROCESS_MAX_POD_LABELS];
	size_t count;
};

static void add_label(void *arg, const char *name, const char *value)
{
	struct pod_labels *labels = arg;
	struct process_label label = {};

	if (value[0] == '\0' || labels->count == ARRAY_SIZE(labels->items))
		return;
	if (string_table_intern(labels->strings, name, strlen(name), &label.name) < 0 ||
	    string_table_intern(labels->strings, value, strlen(value), &label.value) < 0)
		return;
	labels->items[labels->count++] = label;
}

/* "": the process is in no Pod. */
static void copy_pod_uid(const struct process_image_context *context, const struct process *process,
			 char *ret_uid, size_t size)
{
	ret_uid[0] = '\0';
	for (size_t i = 0; i < process->n_cgroup_labels; i++) {
		const struct process_label *label = &process->labels[i];

		if (strcmp(string_table_text(context->strings, label->name), "pod_uid") == 0)
			(void)snprintf(ret_uid, size, "%s",
				       string_table_text(context->strings, label->value));
	}
}

int process_image_find_pod(const struct process_image_context *context, struct process *process)
{
	char uid[sizeof(((struct cgroup_labels *)NULL)->pod_uid)];
	struct pod_labels found = { .strings = context->strings };
	struct process_label *grown;
	const size_t n_before = process->n_labels - process->n_cgroup_labels;

	copy_pod_uid(context, process, uid, sizeof(uid));
	if (!context->pods.find || uid[0] == '\0')
		return 0;
	context->pods.find(context->pods.arg, uid, add_label, &found);
	/* A Pod that has ended is in no list any more: its processes keep their labels. */
	if (found.count == 0 || (found.count == n_before &&
				 memcmp(process->labels + process->n_cgroup_labels, found.items,
					found.count * sizeof(*found.items)) == 0))
		return 0;
	grown = realloc(process->labels,
			(process->n_cgroup_labels + found.count) * sizeof(*process->labels));
	if (!grown)
		return -ENOMEM;
	memcpy(grown + process->n_cgroup_labels, found.items, found.count * sizeof(*found.items));
	process->labels = grown;
	process->n_labels = process->n_cgroup_labels + found.count;
	return 1;
}
