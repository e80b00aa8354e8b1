/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/ingest/sender_clock.h"

#include <stdlib.h>
#include <string.h>

#include "common/limits.h"

/* A smaller step is not corrected: clocks are slewed by seconds. */
#define MIN_STEP_NS (INT64_C(60) * (int64_t)NSEC_PER_SEC)

/* CLOCK_BOOTTIME runs while a host is suspended, CLOCK_MONOTONIC does not. */
#define MIN_SUSPENDED_NS NSEC_PER_SEC

/* Times above it are not those of a clock: the year 2200. */
#define MAX_TIME_NS (UINT64_C(7258118400) * NSEC_PER_SEC)

/* Reads one number and the blank after it. */
static bool take_time(const char **text, uint64_t *ret_ns)
{
	unsigned long long number;
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	number = strtoull(*text, &end, 10);
	if (errno || *end != ' ' || number > MAX_TIME_NS)
		return false;
	*ret_ns = number;
	*text = end + 1;
	return true;
}

struct sender_clock sender_clock_parse(const char *text)
{
	struct sender_clock clock = {};
	size_t length;

	if (!text || !take_time(&text, &clock.wall_ns) || !take_time(&text, &clock.monotonic_ns) ||
	    !take_time(&text, &clock.boottime_ns))
		return (struct sender_clock){};
	length = strlen(text);
	if (length == 0 || length >= sizeof(clock.boot_id))
		return (struct sender_clock){};
	memcpy(clock.boot_id, text, length);
	clock.is_known = true;
	return clock;
}

int64_t sender_clock_offset_ns(const struct sender_clock *sender, uint64_t now_ns)
{
	return sender->is_known ? (int64_t)(sender->wall_ns - now_ns) : 0;
}

int64_t sender_clock_step_ns(const struct sender_clock *sender, const struct batch *batch,
			     uint64_t now_ns)
{
	int64_t step_ns;
	bool was_suspended = sender->boottime_ns > sender->monotonic_ns + MIN_SUSPENDED_NS;
	bool is_in_future =
		batch->closed_wall_ns > sender->wall_ns && batch->closed_wall_ns > now_ns;

	if (!sender->is_known || strcmp(sender->boot_id, batch->host.boot_id) != 0 ||
	    batch->closed_monotonic_ns > sender->monotonic_ns)
		return 0;
	/* A suspended host also has a larger difference of its clocks afterwards. */
	if (was_suspended && !is_in_future)
		return 0;
	step_ns = (int64_t)(sender->wall_ns - (sender->monotonic_ns - batch->closed_monotonic_ns) -
			    batch->closed_wall_ns);
	return step_ns < MIN_STEP_NS && step_ns > -MIN_STEP_NS ? 0 : step_ns;
}

void sender_clock_move(struct batch *batch, int64_t step_ns)
{
	const uint64_t slots = (uint64_t)(step_ns / (int64_t)SLOT_NS);

	for (uint32_t i = 0; i < batch->n_rows; i++)
		batch->rows[i].slot += slots;
	batch->opened_wall_ns += slots * SLOT_NS;
	batch->closed_wall_ns += slots * SLOT_NS;
	batch->step_ns += (int64_t)(slots * SLOT_NS);
}
