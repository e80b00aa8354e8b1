/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/kubernetes/pod_list.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "agent/kubernetes/json_reader.h"

/* Most bytes of texts: 4096 Pods with 32 labels of typical length. */
#define MAX_TEXT_BYTES (8 * MIB)

/* Longest names that Kubernetes accepts. A label is PREFIX/NAME, of at most 253 and 63 bytes. */
#define NAME_SIZE        254
#define NAMESPACE_SIZE   64
#define LABEL_NAME_SIZE  (253 + 1 + 63 + 1)
#define LABEL_VALUE_SIZE 64

/*
 * The annotation in which the API server has the UID of a static Pod that cgroups and folders have;
 * its metadata.uid is another one. Only kubelets may set this annotation.
 */
#define STATIC_UID "kubernetes.io/config.mirror"

/* A Pod while it is read. */
struct draft {
	char uid[POD_UID_SIZE];
	char static_uid[POD_UID_SIZE];
	char name[NAME_SIZE];
	char name_space[NAMESPACE_SIZE];
	char node[NAME_SIZE];
	struct pod_label labels[POD_MAX_LABELS];
	size_t n_labels;
};

int pod_list_init(struct pod_list *list)
{
	*list = (struct pod_list){};
	return arena_new(MAX_TEXT_BYTES, &list->arena);
}

void pod_list_release(struct pod_list *list)
{
	(void)arena_free(list->arena);
	vec_release(&list->pods);
	*list = (struct pod_list){};
}

static bool is_uid(const char *text)
{
	size_t length = strlen(text);

	return (length == 36 || length == 32) && strspn(text, "0123456789abcdefABCDEF-") == length;
}

static int add(struct pod_list *list, const struct draft *draft)
{
	struct pod pod = { .n_labels = draft->n_labels };

	if (list->pods.count >= POD_LIST_MAX_PODS)
		return -ENOSPC;
	memcpy(pod.uid, draft->static_uid[0] ? draft->static_uid : draft->uid, sizeof(pod.uid));
	pod.name = arena_copy_text(list->arena, draft->name, strlen(draft->name));
	pod.name_space = arena_copy_text(list->arena, draft->name_space, strlen(draft->name_space));
	pod.node = arena_copy_text(list->arena, draft->node, strlen(draft->node));
	pod.labels =
		arena_copy(list->arena, draft->labels, draft->n_labels * sizeof(*draft->labels));
	if (!pod.name || !pod.name_space || !pod.node || !pod.labels)
		return -ENOSPC;
	return vec_push(&list->pods, pod);
}

static int read_labels(struct pod_list *list, struct json_reader *reader, struct draft *draft)
{
	char name[LABEL_NAME_SIZE];
	char value[LABEL_VALUE_SIZE];

	json_enter_object(reader);
	while (json_next_key(reader, name, sizeof(name))) {
		struct pod_label *label = &draft->labels[draft->n_labels];

		json_read_text(reader, value, sizeof(value));
		if (draft->n_labels == POD_MAX_LABELS || name[0] == '\0' || value[0] == '\0')
			continue;
		label->name = arena_format(list->arena, "k8s.label.%s", name);
		label->value = arena_copy_text(list->arena, value, strlen(value));
		if (!label->name || !label->value)
			return -ENOSPC;
		draft->n_labels++;
	}
	return 0;
}

static void read_annotations(struct json_reader *reader, struct draft *draft)
{
	char name[LABEL_NAME_SIZE];

	json_enter_object(reader);
	while (json_next_key(reader, name, sizeof(name))) {
		if (strcmp(name, STATIC_UID) == 0)
			json_read_text(reader, draft->static_uid, sizeof(draft->static_uid));
		else
			json_skip(reader);
	}
}

static int read_metadata(struct pod_list *list, struct json_reader *reader, struct draft *draft)
{
	char key[16];
	int r = 0;

	json_enter_object(reader);
	while (r == 0 && json_next_key(reader, key, sizeof(key))) {
		if (json_is_null(reader))
			json_skip(reader);
		else if (strcmp(key, "name") == 0)
			json_read_text(reader, draft->name, sizeof(draft->name));
		else if (strcmp(key, "namespace") == 0)
			json_read_text(reader, draft->name_space, sizeof(draft->name_space));
		else if (strcmp(key, "uid") == 0)
			json_read_text(reader, draft->uid, sizeof(draft->uid));
		else if (strcmp(key, "labels") == 0)
			r = read_labels(list, reader, draft);
		else if (strcmp(key, "annotations") == 0)
			read_annotations(reader, draft);
		else
			json_skip(reader);
	}
	return r;
}

static void read_spec(struct json_reader *reader, struct draft *draft)
{
	char key[16];

	json_enter_object(reader);
	while (json_next_key(reader, key, sizeof(key))) {
		if (strcmp(key, "nodeName") == 0)
			json_read_text(reader, draft->node, sizeof(draft->node));
		else
			json_skip(reader);
	}
}

static int read_pod(struct pod_list *list, struct json_reader *reader)
{
	struct draft draft = {};
	char key[16];
	int r = 0;

	json_enter_object(reader);
	while (r == 0 && json_next_key(reader, key, sizeof(key))) {
		if (strcmp(key, "metadata") == 0)
			r = read_metadata(list, reader, &draft);
		else if (strcmp(key, "spec") == 0)
			read_spec(reader, &draft);
		else
			json_skip(reader);
	}
	if (r < 0 || json_failed(reader) || !is_uid(draft.uid))
		return r;
	if (!is_uid(draft.static_uid))
		draft.static_uid[0] = '\0';
	return add(list, &draft);
}

int pod_list_add_json(struct pod_list *list, struct bytes_view json)
{
	struct json_reader reader = json_reader_of(json.data, json.size);
	bool has_items = false;
	char key[16];
	int r = 0;

	json_enter_object(&reader);
	while (json_next_key(&reader, key, sizeof(key))) {
		if (strcmp(key, "items") != 0) {
			json_skip(&reader);
			continue;
		}
		has_items = true;
		if (json_is_null(&reader)) {
			json_skip(&reader);
			continue;
		}
		json_enter_array(&reader);
		while (json_next_item(&reader)) {
			r = read_pod(list, &reader);
			if (r < 0)
				return r;
		}
	}
	return json_failed(&reader) || !has_items ? -EBADMSG : 0;
}

static bool copy_part(const char *from, size_t length, char *to, size_t size)
{
	if (length == 0 || length >= size)
		return false;
	memcpy(to, from, length);
	to[length] = '\0';
	return true;
}

/* Names of namespaces and Pods have no '_'. */
int pod_list_add_folder_name(struct pod_list *list, const char *name)
{
	const char *first = strchr(name, '_');
	const char *last = strrchr(name, '_');
	struct draft draft = {};
	int r;

	if (!first || first == last || !is_uid(last + 1) ||
	    !copy_part(name, (size_t)(first - name), draft.name_space, sizeof(draft.name_space)) ||
	    !copy_part(first + 1, (size_t)(last - first - 1), draft.name, sizeof(draft.name)) ||
	    !copy_part(last + 1, strlen(last + 1), draft.uid, sizeof(draft.uid)))
		return 0;
	r = add(list, &draft);
	return r < 0 ? r : 1;
}

static void scoped_closedir(DIR **folder)
{
	if (*folder)
		(void)closedir(*folder);
}

int pod_list_add_folder(struct pod_list *list, const char *path)
{
	scoped(scoped_closedir) DIR *folder = opendir(path);
	const struct dirent *entry;
	int r = 0;

	if (!folder)
		return -errno;
	while (r >= 0 && (entry = readdir(folder)))
		r = pod_list_add_folder_name(list, entry->d_name);
	return MIN(r, 0);
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct pod *)a)->uid, ((const struct pod *)b)->uid);
}

void pod_list_sort(struct pod_list *list)
{
	if (list->pods.count > 1)
		qsort(list->pods.items, list->pods.count, sizeof(*list->pods.items), compare);
}

static int compare_uid(const void *uid, const void *pod)
{
	return strcmp(uid, ((const struct pod *)pod)->uid);
}

const struct pod *pod_list_find(const struct pod_list *list, const char *uid)
{
	if (list->pods.count == 0)
		return NULL;
	return bsearch(uid, list->pods.items, list->pods.count, sizeof(*list->pods.items),
		       compare_uid);
}
