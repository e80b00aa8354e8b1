/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/fleet.h"

int fleet_list(struct store_view *view, const struct losses_range *range, struct arena *arena,
	       struct fleet *ret_fleet)
{
	struct loss_machine *machines;
	struct host_losses *hosts;
	struct store_host *boots;
	struct losses losses;
	size_t n_boots, count;
	size_t kept = 0;
	int r;

	r = store_list_hosts(view, arena, &boots, &n_boots);
	if (r == 0)
		r = losses_machines(boots, n_boots, arena, &machines, &count);
	if (r == 0)
		r = losses_read(view, range, machines, count, arena, &hosts, &losses);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		if (hosts[i].covered_slots > 0)
			hosts[kept++] = hosts[i];
	*ret_fleet = (struct fleet){
		.hosts = hosts,
		.count = kept,
		.n_not_seen = count - kept,
		.covered_slots = losses.covered_slots,
	};
	return 0;
}
