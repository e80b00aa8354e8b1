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

/* For engines that do not count services. */
static int count_series(struct store_view *view, const struct store_series_query *query,
			struct arena *arena, struct service_summary **ret_services,
			size_t *ret_count)
{
	struct service_summary *services;
	const struct store_series *previous = NULL;
	struct store_series *series;
	size_t n_series;
	size_t count = 0;
	int r;

	r = store_find_series(view, query, arena, &series, &n_series);
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

static int compare_summaries(const void *left, const void *right)
{
	const struct service_summary *a = left;
	const struct service_summary *b = right;
	int order = strcmp(a->name, b->name);

	return order ? order : a->type < b->type ? -1 : a->type > b->type;
}

static int list_counted(const struct store_active_service *counted, size_t n_counted,
			struct arena *arena, struct service_summary **ret_services,
			size_t *ret_count)
{
	struct service_summary *services =
		arena_alloc_array(arena, n_counted + 1, sizeof(*services));
	size_t count = 0;

	if (!services)
		return -ENOMEM;
	for (size_t i = 0; i < n_counted; i++) {
		if (strcmp(counted[i].name, TOTAL_SERVICE) == 0)
			continue;
		services[count++] = (struct service_summary){
			.name = counted[i].name,
			.type = counted[i].type,
			.event = counted[i].event,
			.first_wall_ns = counted[i].first_slot * SLOT_NS,
			.last_wall_ns = counted[i].last_slot * SLOT_NS,
			.n_hosts = counted[i].n_hosts,
			.n_processes = counted[i].n_processes,
		};
	}
	qsort(services, count, sizeof(*services), compare_summaries);
	*ret_services = services;
	*ret_count = count;
	return 0;
}

int profile_list_services(struct store_view *view, uint64_t from_slot, uint64_t to_slot,
			  struct arena *arena, struct service_summary **ret_services,
			  size_t *ret_count)
{
	const struct store_series_query query = { .type = EVENT_NONE,
						  .from_slot = from_slot,
						  .to_slot = to_slot };
	struct store_active_service *counted;
	size_t n_counted = 0;
	int r;

	r = store_active_services(view, &query, arena, &counted, &n_counted);
	if (r == -EOPNOTSUPP)
		return count_series(view, &query, arena, ret_services, ret_count);
	if (r < 0)
		return r;
	return list_counted(counted, n_counted, arena, ret_services, ret_count);
}

bool service_is_first_of_type(const struct service_summary *services, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (services[i].type == services[index].type)
			return false;
	return true;
}
