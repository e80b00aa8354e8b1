/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads arguments NAME=NUMBER of a workload. */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct named_number {
	const char *name;
	uint64_t *value;
};

/* Sets the value that @argument names. Returns 0 or -EINVAL. */
static inline int read_argument(const char *argument, const struct named_number *numbers,
				size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(numbers[i].name);
		char *end;

		if (strncmp(argument, numbers[i].name, length) != 0 || argument[length] != '=')
			continue;
		*numbers[i].value = strtoull(argument + length + 1, &end, 10);
		return *end == '\0' && argument[length + 1] != '\0' ? 0 : -EINVAL;
	}
	return -EINVAL;
}
