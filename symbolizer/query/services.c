/* SPDX-License-Identifier: Apache-2.0 */
/* Series are sorted by service, type, host and process, so that one pass counts a service's hosts
 * and processes. */

#include <string.h>

#include "common/limits.h"
#include "symbolizer/query/profile.h"
#include "symbolizer/query/selection.h"

static int compare_series(const void *left, const void *right)
{
	const struct store_series *a = left;
	const struct store_series *b = right;
	int order = strcmp(a->process->name, b->process->name);

	if (order != 0)
		return order;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->process->host->id != b->process->host->id)
		return a->process->host->id < b->process->host->id ? -1 : 1;
	return a->process->id < b->process->id ? -1 : a->process->id > b->process->id;
}

static void add_to_service(struct service_summary *service, const struct store_series *series,
			   const struct store_series *previous)
{
	uint64_t first_wall_ns = series->first_slot * SLOT_NS;
	uint64_t last_wall_ns = series->last_slot * SLOT_NS;

	if (!previous || first_wall_ns < service->first_wall_ns)
		service->first_wall_ns = first_wall_ns;
	service->last_wall_ns = MAX(service->last_wall_ns, last_wall_ns);
	service->n_hosts += !previous || previous->process->host->id != series->process->host->id;
	service->n_processes += !previous || previous->process->id != series->process->id;
}

int profile_list_services(struct store *store, const char *tenant, uint64_t from_slot,
			  uint64_t to_slot, struct arena *arena,
			  struct service_summary **ret_services, size_t *ret_count)
{
	const struct store_series_query query = {
		.tenant = tenant, .type = EVENT_NONE, .from_slot = from_slot, .to_slot = to_slot
	};
	struct service_summary *services;
	const struct store_series *previous = NULL;
	struct store_series *series;
	size_t n_series;
	size_t count = 0;
	int r;

	r = store_find_series(store, &query, arena, &series, &n_series);
	if (r < 0)
		return r;
	services = arena_alloc_array(arena, n_series + 1, sizeof(*services));
	if (!services)
		return -ENOMEM;

	if (n_series > 0)
		qsort(series, n_series, sizeof(*series), compare_series);
	for (size_t i = 0; i < n_series; i++) {
		const struct store_process *process = series[i].process;

		if (!is_service(process))
			continue;
		if (!previous || strcmp(previous->process->name, process->name) != 0 ||
		    previous->type != series[i].type) {
			services[count++] =
				(struct service_summary){ .name = process->name,
							  .type = series[i].type,
							  .event = store_series_event(&series[i]) };
			previous = NULL;
		}
		add_to_service(&services[count - 1], &series[i], previous);
		previous = &series[i];
	}
	*ret_services = services;
	*ret_count = count;
	return 0;
}
