/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/cli/print/number_format.h"
#include "symbolizer/cli/print/printable.h"
#include "symbolizer/cli/profile/flame_text.h"

/* "1234 m 56 s in the 1234 s of 1234 d that were sampled (123.45 CPUs)" */
#define FIGURES_COLUMNS 64

#define US_PER_S UINT64_C(1000000)

void flame_heading_write(const struct call_tree *tree, const struct flame_heading *heading,
			 struct bytes *out)
{
	uint64_t total = tree->nodes[0].total;
	/* Ignore one second, which rounding at the ends of the range may remove. */
	bool partly = tree->covered_s > 0 && tree->covered_s + 1 < heading->seconds;
	uint64_t seconds = partly ? tree->covered_s : heading->seconds;
	char value[NUMBER_TEXT_SIZE], covered[NUMBER_TEXT_SIZE], requested[NUMBER_TEXT_SIZE];

	format_value(heading->type, total, value);
	format_value(EVENT_ON_CPU, seconds * US_PER_S, covered);
	format_value(EVENT_ON_CPU, heading->seconds * US_PER_S, requested);
	(void)printable_append(out, call_tree_function(tree, 0)->name,
			       MAX(heading->width - FIGURES_COLUMNS, 15));
	(void)bytes_append_format(out, ", %s: %s in ", event_type_name(heading->type), value);
	if (partly)
		(void)bytes_append_format(out, "the %s of %s that were sampled", covered,
					  requested);
	else
		(void)bytes_append_text(out, requested);
	if (heading->type == EVENT_ON_CPU)
		(void)bytes_append_format(out, " (%.2f CPUs)",
					  (double)total / 1e6 / (double)seconds);
	(void)bytes_append_byte(out, '\n');
}
