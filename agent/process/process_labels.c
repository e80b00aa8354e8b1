/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits the path at its slashes. The innermost part that has the form of a container, pod or unit
 * gives the label.
 */
#include "agent/process/process_labels.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define CONTAINER_ID_LENGTH 64
#define POD_UID_LENGTH      36
#define STATIC_UID_LENGTH   32 /* of a pod that the kubelet reads from a file: a hash */

static bool is_hex(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (!isxdigit((unsigned char)text[i]))
			return false;
	}
	return true;
}

/* The part is "<prefix>-<64 hex>.scope", "<prefix>-<64 hex>" or "<64 hex>". */
static void parse_container(const char *part, size_t length, struct cgroup_labels *labels)
{
	static const char suffix[] = ".scope";

	if (length > sizeof(suffix) - 1 &&
	    memcmp(part + length - (sizeof(suffix) - 1), suffix, sizeof(suffix) - 1) == 0)
		length -= sizeof(suffix) - 1;
	if (length < CONTAINER_ID_LENGTH)
		return;
	part += length - CONTAINER_ID_LENGTH;
	if (length > CONTAINER_ID_LENGTH && part[-1] != '-')
		return;
	if (!is_hex(part, CONTAINER_ID_LENGTH))
		return;
	memcpy(labels->container_id, part, CONTAINER_ID_LENGTH);
	labels->container_id[CONTAINER_ID_LENGTH] = '\0';
}

static bool ends_with(const char *part, size_t length, const char *suffix)
{
	size_t suffix_length = strlen(suffix);

	return length > suffix_length &&
	       memcmp(part + length - suffix_length, suffix, suffix_length) == 0;
}

/* 8-4-4-4-12 hex digits; systemd's slices have '_' where the UID has '-'. */
static bool copy_uid(const char *text, char ret_uid[POD_UID_LENGTH + 1])
{
	for (size_t i = 0; i < POD_UID_LENGTH; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' && text[i] != '_' : !isxdigit((unsigned char)text[i]))
			return false;
		ret_uid[i] = dash ? '-' : text[i];
	}
	ret_uid[POD_UID_LENGTH] = '\0';
	return true;
}

/* The part ends in "pod<uid>" or "pod<uid>.slice". */
static void parse_static_pod(const char *part, size_t length, struct cgroup_labels *labels)
{
	static const char suffix[] = ".slice";

	if (ends_with(part, length, suffix))
		length -= sizeof(suffix) - 1;
	if (length < 3 + STATIC_UID_LENGTH)
		return;
	part += length - 3 - STATIC_UID_LENGTH;
	if (memcmp(part, "pod", 3) != 0 || !is_hex(part + 3, STATIC_UID_LENGTH))
		return;
	memcpy(labels->pod_uid, part + 3, STATIC_UID_LENGTH);
	labels->pod_uid[STATIC_UID_LENGTH] = '\0';
}

/* "pod<uid>" or "kubepods-burstable-pod<uid>.slice". */
static void parse_pod(const char *part, size_t length, struct cgroup_labels *labels)
{
	char uid[POD_UID_LENGTH + 1];

	for (size_t at = 0; at + 3 + POD_UID_LENGTH <= length; at++) {
		if (memcmp(part + at, "pod", 3) == 0 && copy_uid(part + at + 3, uid))
			memcpy(labels->pod_uid, uid, sizeof(uid));
	}
	parse_static_pod(part, length, labels);
}

void cgroup_labels_parse(const char *path, struct cgroup_labels *ret_labels)
{
	struct cgroup_labels labels = {};

	while (*path) {
		size_t length = strcspn(path, "/");

		if (length > 0) {
			parse_container(path, length, &labels);
			parse_pod(path, length, &labels);
			if (ends_with(path, length, ".service") ||
			    ends_with(path, length, ".scope"))
				(void)snprintf(labels.unit, sizeof(labels.unit), "%.*s",
					       (int)length, path);
		}
		path += length;
		path += *path == '/';
	}
	/* The runtime, and no user, has named the scope of a container. */
	if (labels.container_id[0] && strstr(labels.unit, labels.container_id))
		labels.unit[0] = '\0';
	*ret_labels = labels;
}
