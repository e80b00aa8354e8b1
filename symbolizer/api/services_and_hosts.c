/* SPDX-License-Identifier: Apache-2.0 */

/*
 * GET /v1/services and GET /v1/hosts: lists of services and hosts with samples.
 */

#include <string.h>

#include "common/log.h"
#include "symbolizer/api/answer.h"
#include "symbolizer/api/losses_answer.h"
#include "symbolizer/api/profile_parameters.h"
#include "symbolizer/api/tracing_request.h"
#include "symbolizer/query/coverage.h"

/* By default, services with samples in the last day are listed. */
#define SERVICES_DEFAULT_LAST_NS (24 * 3600 * NSEC_PER_SEC)

/* Memory for a hundred thousand services or hosts of one kilobyte each. */
#define LIST_ARENA_BYTES (128 * MIB)

/* Logs, counts and answers a failure of the store. */
static void store_failed(struct api_context *context, struct http_response *response, int error,
			 const char *list)
{
	api_count(context, API_METRIC_STORE_ERRORS, 1);
	(void)log_error_errno(error, "cannot list %s, answering with an error: %m", list);
	http_response_error(response, 500, "cannot list %s: the sample store failed: %s", list,
			    strerror(-error));
}

static void write_services(const struct service_summary *services, size_t count, const char *only,
			   const struct time_range *range, struct http_response *response)
{
	struct json_writer json;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key(&json, "services");
	json_array_begin(&json);
	for (size_t i = 0; i < count; i++) {
		if (only && strcmp(services[i].event->name, only) != 0)
			continue;
		json_object_begin(&json);
		json_key_text(&json, "name", services[i].name);
		json_key_text(&json, "event", services[i].event->name);
		json_key_uint(&json, "first_time", services[i].first_wall_ns / NSEC_PER_SEC);
		json_key_uint(&json, "last_time", services[i].last_wall_ns / NSEC_PER_SEC);
		json_key_uint(&json, "hosts", services[i].n_hosts);
		json_key_uint(&json, "processes", services[i].n_processes);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_key_uint(&json, "since", range->since_wall_ns / NSEC_PER_SEC);
	json_key_uint(&json, "until", range->until_wall_ns / NSEC_PER_SEC);
	json_object_end(&json);
}

void api_services(struct api_context *context, const struct http_request *request,
		  struct http_response *response)
{
	const char *event = http_request_parameter(request, "event");
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	char message[PARAMETERS_MESSAGE_SIZE];
	struct service_summary *services;
	struct profile_request profile = {};
	char reason[PROFILE_MESSAGE_SIZE];
	struct answer_event found;
	struct time_range range;
	size_t count;
	int r;

	r = api_open_view(context, request, &view);
	if (r < 0) {
		store_failed(context, response, r, "services");
		return;
	}
	if (event) {
		r = answer_find_event(view, event, &found, &profile, reason);
		if (r < 0) {
			http_response_error(response, r == -EINVAL ? 400 : 500, "event: %s",
					    reason);
			return;
		}
	}
	if (time_range_parse(request, context->clock, SERVICES_DEFAULT_LAST_NS, &range, message) <
	    0) {
		http_response_error(response, 400, "%s", message);
		return;
	}
	r = arena_new(LIST_ARENA_BYTES, &arena);
	if (r == 0)
		r = profile_list_services(view, range.from_slot, range.to_slot, arena, &services,
					  &count);
	if (r < 0)
		store_failed(context, response, r, "services");
	else
		write_services(services, count, event, &range, response);
}

static void write_labels(struct json_writer *json, const struct label *labels, uint32_t count)
{
	json_key(json, "labels");
	json_object_begin(json);
	for (uint32_t i = 0; i < count; i++)
		json_key_text(json, labels[i].name, labels[i].value);
	json_object_end(json);
}

/* @losses NULL: the request has no time range. */
static void write_host(struct json_writer *json, const struct store_host *host,
		       const struct host_losses *losses)
{
	json_object_begin(json);
	json_key_text(json, "name", host->name);
	json_key_text(json, "agent_id", host->agent_id);
	json_key_text(json, "agent_version", host->agent_version);
	json_key_text(json, "kernel_release", host->kernel_release);
	json_key_text(json, "architecture", host->architecture);
	json_key_text(json, "boot_id", host->boot_id);
	json_key_uint(json, "cpus", host->n_cpus);
	json_key(json, "ips");
	json_array_begin(json);
	for (uint32_t i = 0; i < host->n_ips; i++)
		json_text(json, host->ips[i]);
	json_array_end(json);
	write_labels(json, host->labels, host->n_labels);
	json_key_uint(json, "first_time", host->first_seen_ns / NSEC_PER_SEC);
	json_key_uint(json, "last_time", host->last_seen_ns / NSEC_PER_SEC);
	if (losses) {
		json_key_uint(json, "covered_s", coverage_seconds(losses->covered_slots));
		json_key_int(json, "clock_offset_ms", losses_clock_offset_ms(losses));
		json_key(json, "losses");
		losses_answer_host(json, losses);
	}
	json_object_end(json);
}

/*
 * Reads the losses for each of @hosts. The store has a separate host for each boot of a machine,
 * and the answer lists them separately.
 */
static int read_losses(struct api_context *context, struct store_view *view,
		       const struct time_range *range, const struct store_host *hosts, size_t count,
		       struct arena *arena, struct host_losses **ret_losses)
{
	const struct losses_range losses_range = {
		.from_slot = range->from_slot,
		.to_slot = range->to_slot,
		.now_ns = clock_wall_ns(context->clock),
	};
	struct loss_machine *machines = arena_alloc_array(arena, count + 1, sizeof(*machines));
	struct losses sums;

	if (!machines)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		machines[i] = (struct loss_machine){
			.host = &hosts[i],
			.boots = &hosts[i].id,
			.n_boots = 1,
			.first_seen_ns = hosts[i].first_seen_ns,
		};
	return losses_read(view, &losses_range, machines, count, arena, ret_losses, &sums);
}

static void write_hosts(const struct store_host *hosts, const struct host_losses *losses,
			size_t count, struct http_response *response)
{
	struct json_writer json;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key(&json, "hosts");
	json_array_begin(&json);
	for (size_t i = 0; i < count; i++)
		write_host(&json, &hosts[i], losses ? &losses[i] : NULL);
	json_array_end(&json);
	json_object_end(&json);
}

void api_hosts(struct api_context *context, const struct http_request *request,
	       struct http_response *response)
{
	bool ranged =
		http_request_parameter(request, "last") || http_request_parameter(request, "since");
	char message[TIME_RANGE_MESSAGE_SIZE];
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct host_losses *losses = NULL;
	struct store_host *hosts;
	struct time_range range;
	size_t count;
	int r;

	if (time_range_parse(request, context->clock, NSEC_PER_SEC, &range, message) < 0) {
		http_response_error(response, 400, "%s", message);
		return;
	}
	r = arena_new(LIST_ARENA_BYTES, &arena);
	if (r == 0)
		r = api_open_view(context, request, &view);
	if (r == 0)
		r = store_list_hosts(view, arena, &hosts, &count);
	if (r == 0 && ranged)
		r = read_losses(context, view, &range, hosts, count, arena, &losses);
	if (r == -E2BIG)
		http_response_error(response, 400,
				    "agents sent more than %d batches in this range, which are too "
				    "many to read: ask for a shorter one, such as last=1h",
				    COVERAGE_MAX_BATCHES);
	else if (r < 0)
		store_failed(context, response, r, "hosts");
	else
		write_hosts(hosts, losses, count, response);
}
