/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The Pods of this host: names, namespaces, nodes and labels by their UIDs. A list is filled, then
 * sorted, and not changed any more.
 *
 * Sources are a v1.PodList in JSON, as the kubelet and the API server return it, and the names of
 * the kubelet's folders of logs, /var/log/pods/NAMESPACE_NAME_UID, which have no labels.
 */

#include "common/arena.h"
#include "common/bytes.h"
#include "common/vec.h"

/* Most Pods of a list. The kubelet runs at most 110 unless its configuration says otherwise. */
#define POD_LIST_MAX_PODS 4096

/* Most labels of a Pod; further ones are left out. A process may have 64 labels of any origin. */
#define POD_MAX_LABELS 32

/* 36 characters; 32 for static Pods, whose UID is a hash without dashes. */
#define POD_UID_SIZE 37

struct pod_label {
	const char *name; /* with the prefix "k8s.label." */
	const char *value;
};

/* Texts and labels live in the list. */
struct pod {
	char uid[POD_UID_SIZE];
	const char *name;
	const char *name_space;
	const char *node; /* "": not known */
	const struct pod_label *labels;
	size_t n_labels;
};

VEC_DEFINE(pod_vec, struct pod);

struct pod_list {
	struct arena *arena;
	struct pod_vec pods;
};

/* 0 or -ENOMEM. */
int pod_list_init(struct pod_list *list);
void pod_list_release(struct pod_list *list);

/*
 * Adds the Pods of a PodList. -EBADMSG: the text is no PodList, and the list may have a part of it;
 * -ENOSPC: it has more Pods or longer texts than are kept; -ENOMEM.
 */
int pod_list_add_json(struct pod_list *list, struct bytes_view json);

/* Adds the Pod of a folder's name. 1; 0: it is no name of a Pod's folder; -ENOSPC; -ENOMEM. */
int pod_list_add_folder_name(struct pod_list *list, const char *name);

/* Adds the Pods of all folders in @path. 0, or negative errno of opening it, -ENOSPC or -ENOMEM. */
int pod_list_add_folder(struct pod_list *list, const char *path);

/* Sorts by UID, for pod_list_find(). */
void pod_list_sort(struct pod_list *list);

/* The Pod with @uid, or NULL. To be called after pod_list_sort(). */
const struct pod *pod_list_find(const struct pod_list *list, const char *uid);
