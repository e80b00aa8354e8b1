/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/cli/print/number_format.h"

#include <stdio.h>
#include <string.h>

static void format_scaled(double value, const char *unit, char ret_text[NUMBER_TEXT_SIZE])
{
	int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;

	(void)snprintf(ret_text, NUMBER_TEXT_SIZE, "%.*f %s", decimals, value, unit);
}

static void format_time(uint64_t us, char ret_text[NUMBER_TEXT_SIZE])
{
	uint64_t seconds = (us + 500000) / 1000000;

	if (us < 1000)
		(void)snprintf(ret_text, NUMBER_TEXT_SIZE, "%d us", (int)us);
	else if (us < 999500)
		format_scaled((double)us / 1e3, "ms", ret_text);
	else if (us < 59950000)
		format_scaled((double)us / 1e6, "s", ret_text);
	else if (seconds < 3600 && seconds % 60 == 0)
		(void)snprintf(ret_text, NUMBER_TEXT_SIZE, "%d m", (int)(seconds / 60));
	else if (seconds < 3600)
		(void)snprintf(ret_text, NUMBER_TEXT_SIZE, "%d m %d s", (int)(seconds / 60),
			       (int)(seconds % 60));
	else if (seconds < 86400)
		(void)snprintf(ret_text, NUMBER_TEXT_SIZE, "%d h %d m", (int)(seconds / 3600),
			       (int)(seconds / 60 % 60));
	else
		(void)snprintf(ret_text, NUMBER_TEXT_SIZE, "%llu d %d h",
			       (unsigned long long)(seconds / 86400), (int)(seconds / 3600 % 24));
}

void format_bytes(uint64_t bytes, char ret_text[NUMBER_TEXT_SIZE])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 1000) {
		(void)snprintf(ret_text, NUMBER_TEXT_SIZE, "%d B", (int)bytes);
		return;
	}
	while (value >= 999.5 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	format_scaled(value, units[unit], ret_text);
}

void format_value(enum event_type type, uint64_t value, char ret_text[NUMBER_TEXT_SIZE])
{
	const char *unit = event_type_unit(type);

	if (unit && strcmp(unit, "bytes") == 0)
		format_bytes(value, ret_text);
	else
		format_time(value, ret_text);
}

void format_share(uint64_t part, uint64_t whole, char ret_text[NUMBER_TEXT_SIZE])
{
	double percent = whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;

	(void)snprintf(ret_text, NUMBER_TEXT_SIZE, "%.1f %%", MIN(percent, 999.9));
}

void format_age(uint64_t seconds, char ret_text[NUMBER_TEXT_SIZE])
{
	if (seconds < 2)
		(void)snprintf(ret_text, NUMBER_TEXT_SIZE, "just now");
	else if (seconds < 120)
		(void)snprintf(ret_text, NUMBER_TEXT_SIZE, "%d s ago", (int)seconds);
	else if (seconds < 7200)
		(void)snprintf(ret_text, NUMBER_TEXT_SIZE, "%d m ago", (int)(seconds / 60));
	else if (seconds < 172800)
		(void)snprintf(ret_text, NUMBER_TEXT_SIZE, "%d h ago", (int)(seconds / 3600));
	else
		(void)snprintf(ret_text, NUMBER_TEXT_SIZE, "%llu d ago",
			       (unsigned long long)(seconds / 86400));
}
