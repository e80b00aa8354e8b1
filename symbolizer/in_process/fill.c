/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/in_process/fill.h"

#include "symbolizer/in_process/fill_rows.h"
#include "symbolizer/store/store.h"

#define MINUTE_S     60
#define MINUTE_SLOTS (MINUTE_S * NSEC_PER_SEC / SLOT_NS)

static_assert(IN_PROCESS_UNIT_S % MINUTE_S == 0, "a unit has whole minutes");

/* Lists of tenants and services. */
#define MAX_LIST_BYTES (256 * MIB)

struct fill {
	const struct fill_options *options;
	const struct fill_request *request;
	char table[IN_PROCESS_FILL_NAME_SIZE];
	struct arena *arena;
	struct fill_rows rows;
	struct fill_result result;
};

static int add_rows(void *arg, struct bytes_view rows)
{
	struct fill *fill = arg;

	return in_process_fill_add(fill->options->client, fill->table, rows);
}

/* One event type in one minute. */
static int fill_minute(struct fill *fill, struct store_view *view, const struct service_summary *of,
		       uint64_t from_slot)
{
	const struct profile_request request = {
		.type = of->type,
		.event = of->event,
		.any_services = true,
		.per_process = true,
		.without_losses = true,
		.from_slot = from_slot,
		.to_slot = from_slot + MINUTE_SLOTS,
		.max_kernel_stack_depth = -1,
	};
	const struct stack_visitor visitor = fill_rows_visitor(&fill->rows);
	char message[PROFILE_MESSAGE_SIZE];
	struct profile_stats stats;
	int r;

	fill_rows_begin(&fill->rows, profile_event(&request), from_slot * SLOT_NS / NSEC_PER_SEC);
	r = profile_visit_stacks(view, fill->options->resolver, fill->options->clock, &request,
				 &visitor, &stats, message);
	fill->result.n_stacks += stats.n_stacks;
	fill->result.has_pending_tables |= stats.n_tables_pending > 0;
	return MIN(r, 0);
}

static int fill_types(struct fill *fill, struct store_view *view)
{
	const uint64_t from_slot = fill->request->unit * IN_PROCESS_UNIT_SLOTS;
	const uint64_t to_slot = from_slot + IN_PROCESS_UNIT_SLOTS;
	struct service_summary *services;
	size_t count = 0;
	int r = profile_list_services(view, from_slot, to_slot, fill->arena, &services, &count);

	for (size_t i = 0; i < count && r == 0; i++) {
		if (!service_is_first_of_type(services, i))
			continue;
		for (uint64_t slot = from_slot; slot < to_slot && r == 0; slot += MINUTE_SLOTS)
			r = fill_minute(fill, view, &services[i], slot);
	}
	return r;
}

static int fill_tenant(struct fill *fill, const char *tenant)
{
	const struct store_view_options options = {
		.tenant = tenant,
		.cancel = fill->options->cancel,
		.memory = fill->options->memory,
	};
	scoped(store_view_closep) struct store_view *view = NULL;
	int r = store_view_open(fill->options->store, &options, &view);

	fill->rows.tenant = tenant;
	return r < 0 ? r : fill_types(fill, view);
}

static int fill_tenants(struct fill *fill)
{
	const char **tenants;
	size_t count = 0;
	int r;

	r = in_process_find_tenants(fill->options->client, fill->request->unit, fill->arena,
				    &tenants, &count);
	for (size_t i = 0; i < count && r == 0; i++)
		r = fill_tenant(fill, tenants[i]);
	return r < 0 ? r : fill_rows_end(&fill->rows);
}

/* 1 or 0. */
static int is_better(struct fill *fill)
{
	struct clickhouse_client *client = fill->options->client;
	struct in_process_names ours, theirs;
	int r = in_process_find_names(client, fill->table, fill->request->unit, &ours);

	if (r == 0)
		r = in_process_find_names(client, "in_process", fill->request->unit, &theirs);
	if (r < 0)
		return r;
	if (ours.value < theirs.value)
		return 0;
	if (ours.unnamed_frames != theirs.unnamed_frames)
		return ours.unnamed_frames < theirs.unnamed_frames;
	return ours.length > theirs.length;
}

static int publish(struct fill *fill)
{
	int r = fill->request->is_correction ? is_better(fill) : 1;

	if (r <= 0)
		return r;
	if (fill->rows.n_rows == 0)
		r = in_process_drop_unit(fill->options->client, fill->request->unit);
	else
		r = in_process_fill_publish(fill->options->client, fill->table,
					    fill->request->unit);
	fill->result.is_published = r == 0;
	return r;
}

static int fill_in_table(struct fill *fill)
{
	struct clickhouse_client *client = fill->options->client;
	int dropped;
	int r = in_process_fill_begin(client, fill->table);

	if (r < 0)
		return r;
	r = fill_tenants(fill);
	if (r == 0)
		r = publish(fill);
	dropped = in_process_fill_drop(client, fill->table);
	return r < 0 ? r : dropped;
}

int fill_unit(const struct fill_options *options, const struct fill_request *request,
	      struct fill_result *ret_result)
{
	struct fill fill = {
		.options = options,
		.request = request,
		.rows = { .state = request->state, .flush = add_rows, .arg = &fill },
	};
	int r = arena_new_in(MAX_LIST_BYTES, options->memory, &fill.arena);

	if (r == 0)
		r = fill_rows_init(&fill.rows);
	if (r == 0)
		r = fill_in_table(&fill);
	fill.result.n_rows = fill.rows.n_rows;
	*ret_result = fill.result;
	fill_rows_release(&fill.rows);
	(void)arena_free(fill.arena);
	return r;
}
