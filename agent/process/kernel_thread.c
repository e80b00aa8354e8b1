/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process/kernel_thread.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static const struct kernel_thread_row {
	const char *pattern;
	const char *service;
} kernel_thread_rows[] = {
#define KERNEL_THREAD(pattern, service) { pattern, service },
#include "agent/process/kernel_threads.def"
#undef KERNEL_THREAD
};

/* Length of the part of @comm that all threads of a kind have in common; 0: there is none. */
static size_t kind_length(const char *comm)
{
	size_t length = strcspn(comm, "/");

	if (comm[length] == '/')
		return length;
	while (length > 0 && comm[length - 1] >= '0' && comm[length - 1] <= '9')
		length--;
	if (length < strlen(comm)) {
		while (length > 0 && strchr("_-:", comm[length - 1]))
			length--;
	}
	return length;
}

void kernel_thread_kind(const char *comm, char *ret_kind, size_t size)
{
	size_t length;

	for (size_t i = 0; i < ARRAY_SIZE(kernel_thread_rows); i++) {
		if (fnmatch(kernel_thread_rows[i].pattern, comm, 0) == 0) {
			(void)snprintf(ret_kind, size, "%s", kernel_thread_rows[i].service);
			return;
		}
	}
	length = kind_length(comm);
	if (length == 0)
		length = strlen(comm);
	length = MIN(length, size - 1);
	memmove(ret_kind, comm, length);
	ret_kind[length] = '\0';
}
