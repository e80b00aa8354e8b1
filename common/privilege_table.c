/* SPDX-License-Identifier: Apache-2.0 */
#include "common/privilege_table.h"

#include <linux/capability.h>

#include "common/base.h"
#include "common/capabilities.h"

/* Names used in privileges.def. */
#define REQUIRED PRIVILEGE_IS_REQUIRED
#define DEGRADES PRIVILEGE_DEGRADES
#define SILENT   PRIVILEGE_IS_SILENT
#define ALWAYS   PRIVILEGE_IS_KEPT
#define START    PRIVILEGE_AT_START

static const struct privilege_row rows[] = {
#define PRIVILEGE(id, other, how_needed, when, what_is_lost)                                       \
	[PRIVILEGE_##id] = {                                                                       \
		.bit = CAPABILITY_BIT(CAP_##id),                                                   \
		.alternative = CAPABILITY_BIT(CAP_##other),                                        \
		.name = #id,                                                                       \
		.loss = what_is_lost,                                                              \
		.need = how_needed,                                                                \
		.time = when,                                                                      \
	},
#include "common/privileges.def"
#undef PRIVILEGE
};

static_assert(ARRAY_SIZE(rows) == PRIVILEGE_COUNT, "every privilege needs a row");

const struct privilege_row *privilege_row(enum privilege privilege)
{
	assert(privilege < PRIVILEGE_COUNT);
	return &rows[privilege];
}

bool privilege_is_in(enum privilege privilege, uint64_t permitted)
{
	const struct privilege_row *row = privilege_row(privilege);

	return permitted & (row->bit | row->alternative);
}
