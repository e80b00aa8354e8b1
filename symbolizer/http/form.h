/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Bodies of the type application/x-www-form-urlencoded: "name=value&name=value" with escapes. */

#include "common/arena.h"
#include "symbolizer/http/message.h"

/* Forms that clients send have at most four fields. */
#define FORM_MAX_FIELDS 16

struct form {
	struct http_field fields[FORM_MAX_FIELDS];
	size_t n_fields;
};

/*
 * Parses @body; the texts are allocated in @arena. Returns 0, -EINVAL (an incomplete or unknown
 * escape, a null byte, or more than FORM_MAX_FIELDS fields) or -ENOMEM.
 */
int form_parse(struct bytes_view body, struct arena *arena, struct form *ret_form);

/* Returns the value of the first field with this name, or NULL. An empty value counts as absent. */
const char *form_value(const struct form *form, const char *name);
