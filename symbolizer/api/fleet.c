/* SPDX-License-Identifier: Apache-2.0 */

/*
 * GET /v1/fleet: coverage, losses and cost of all agents.
 */

#include <string.h>

#include "common/log.h"
#include "symbolizer/api/answer.h"
#include "symbolizer/api/losses_answer.h"
#include "symbolizer/api/time_range.h"
#include "symbolizer/query/coverage.h"
#include "symbolizer/query/fleet.h"

#define FLEET_DEFAULT_LAST_NS (3600 * NSEC_PER_SEC)

/* Memory for a hundred thousand hosts of one kilobyte each. */
#define FLEET_ARENA_BYTES (128 * MIB)

static void write_host(struct json_writer *json, const struct host_losses *entry)
{
	const struct loss_counts *counts = &entry->counts;
	const struct store_host *host = entry->machine.host;

	json_object_begin(json);
	json_key_text(json, "name", host->name);
	json_key_text(json, "agent_id", host->agent_id);
	json_key_text(json, "agent_version", host->agent_version);
	json_key_uint(json, "cpus", host->n_cpus);
	json_key_uint(json, "last_time", host->last_seen_ns / NSEC_PER_SEC);
	json_key_uint(json, "covered_s", coverage_seconds(entry->covered_slots));
	json_key_uint(json, "counted_s", coverage_seconds(entry->counted_ns / SLOT_NS));
	json_key_uint(json, "ticks_expected", counts->ticks_expected);
	json_key_uint(json, "ticks_lost", counts->ticks_ring_full + counts->ticks_failed);
	json_key_uint(json, "ticks_missed", counts->ticks_missed);
	json_key_uint(json, "samples", counts->samples);
	json_key_uint(json, "stacks_cut", loss_counts_cut(counts));
	json_key_uint(json, "stacks_lost", counts->stacks_lost);
	json_key_uint(json, "waits_lost", counts->waits_lost);
	json_key_uint(json, "batches_lost", MAX(counts->batches_dropped, entry->n_missing));
	json_key_uint(json, "agent_cpu", counts->agent_cpu_ns / NSEC_PER_USEC);
	json_key_int(json, "clock_offset_ms", losses_clock_offset_ms(entry));
	json_key(json, "losses");
	losses_answer_host(json, entry);
	json_object_end(json);
}

static void write_fleet(const struct fleet *fleet, const struct time_range *range,
			struct http_response *response)
{
	struct json_writer json;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key(&json, "hosts");
	json_array_begin(&json);
	for (size_t i = 0; i < fleet->count; i++)
		write_host(&json, &fleet->hosts[i]);
	json_array_end(&json);
	json_key_uint(&json, "not_seen", fleet->n_not_seen);
	json_key_uint(&json, "covered_s", coverage_seconds(fleet->covered_slots));
	json_key_uint(&json, "since", range->since_wall_ns / NSEC_PER_SEC);
	json_key_uint(&json, "until", range->until_wall_ns / NSEC_PER_SEC);
	json_object_end(&json);
}

void api_fleet(struct api_context *context, const struct http_request *request,
	       struct http_response *response)
{
	char message[TIME_RANGE_MESSAGE_SIZE];
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct fleet fleet = {};
	struct losses_range losses_range;
	struct time_range range;
	int r;

	if (time_range_parse(request, context->clock, FLEET_DEFAULT_LAST_NS, &range, message) < 0) {
		http_response_error(response, 400, "%s", message);
		return;
	}
	losses_range = (struct losses_range){
		.from_slot = range.from_slot,
		.to_slot = range.to_slot,
		.now_ns = clock_wall_ns(context->clock),
	};
	r = arena_new(FLEET_ARENA_BYTES, &arena);
	if (r == 0)
		r = api_open_view(context, request, &view);
	if (r == 0)
		r = fleet_list(view, &losses_range, arena, &fleet);
	if (r == -E2BIG) {
		http_response_error(response, 400,
				    "agents sent more than %d batches in this range, which are too "
				    "many to read: ask for a shorter one, such as last=1h",
				    COVERAGE_MAX_BATCHES);
		return;
	}
	if (r < 0) {
		api_count(context, API_METRIC_STORE_ERRORS, 1);
		(void)log_error_errno(r, "cannot list the fleet, answering with an error: %m");
		http_response_error(response, 500,
				    "cannot list the fleet: the sample store failed: %s",
				    strerror(-r));
		return;
	}
	write_fleet(&fleet, &range, response);
}
