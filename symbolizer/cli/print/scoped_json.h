/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* For scoped ownership of jansson values: scoped(json_freep) json_t *root = json_loadb(...). */

#include <jansson.h>

#include "common/scoped.h"

static inline void json_freep(json_t **json)
{
	json_decref(*json);
}
