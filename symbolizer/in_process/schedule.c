/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/in_process/schedule.h"

#include "common/hash.h"

static bool is_settled(const struct in_process_unit *unit, uint64_t now_ns)
{
	return unit->changed_ns + SCHEDULE_SETTLED_NS <= now_ns;
}

uint64_t schedule_state(const struct in_process_unit *unit, uint64_t now_ns)
{
	const uint64_t parts[] = { unit->changes, is_settled(unit, now_ns) };
	const uint64_t state = hash64_of(parts, sizeof(parts));

	return state ? state : 1; /* 0: no rows */
}

static const struct schedule_write *find_write(const struct schedule *schedule, uint32_t unit)
{
	for (size_t i = 0; i < schedule->writes.count; i++)
		if (schedule->writes.items[i].unit == unit)
			return &schedule->writes.items[i];
	return NULL;
}

/*
 * The rows have the state of the unit. If another server wrote them, this one tries its names once,
 * when the unit is settled.
 */
static bool is_to_correct(const struct schedule *schedule, const struct in_process_unit *unit,
			  const struct schedule_now *now)
{
	const struct schedule_write *write = find_write(schedule, unit->unit);

	if (unit->changed_ns + SCHEDULE_RECENT_NS < now->now_ns)
		return false;
	return write && write->state == unit->state ? write->generation != now->generation
						    : is_settled(unit, now->now_ns);
}

enum schedule_reason schedule_next(const struct schedule *schedule,
				   const struct in_process_units *units,
				   const struct schedule_now *now,
				   const struct in_process_unit **ret_unit)
{
	const struct in_process_unit *to_correct = NULL;

	for (size_t i = 0; i < units->list.count; i++) {
		const struct in_process_unit *unit = &units->list.items[i];

		if (unit->unit < now->first || unit->unit >= now->end)
			continue;
		if (unit->state != schedule_state(unit, now->now_ns)) {
			*ret_unit = unit;
			return SCHEDULE_FILL;
		}
		if (!to_correct && !now->no_corrections && is_to_correct(schedule, unit, now))
			to_correct = unit;
	}
	if (!to_correct)
		return SCHEDULE_NOTHING;
	*ret_unit = to_correct;
	return SCHEDULE_CORRECT;
}

int schedule_wrote(struct schedule *schedule, const struct schedule_write *write)
{
	size_t n_kept = 0;

	for (size_t i = 0; i < schedule->writes.count; i++) {
		const struct schedule_write *old = &schedule->writes.items[i];

		if (old->unit != write->unit && old->at_ns + 2 * SCHEDULE_RECENT_NS >= write->at_ns)
			schedule->writes.items[n_kept++] = *old;
	}
	schedule->writes.count = n_kept;
	return vec_push(&schedule->writes, *write);
}

void schedule_release(struct schedule *schedule)
{
	vec_release(&schedule->writes);
}
