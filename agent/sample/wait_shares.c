/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sample/wait_shares.h"

static_assert(sizeof(struct wait_owner) == 3 * sizeof(uint32_t), "keys are compared as bytes");

int wait_shares_init(struct wait_shares *shares)
{
	*shares = (struct wait_shares){};
	return hash_table_new(sizeof(struct wait_owner), sizeof(uint32_t), 0, &shares->index);
}

void wait_shares_release(struct wait_shares *shares)
{
	shares->index = hash_table_free(shares->index);
	vec_release(&shares->sites);
	vec_release(&shares->shares);
}

int wait_shares_add_time(struct wait_shares *shares, const struct wait_owner *owner, uint64_t others_ns,
			 uint32_t *ret_site)
{
	void *value;
	int r;

	r = hash_table_insert(shares->index, owner, &value);
	if (r < 0)
		return r;
	if (r == 1) {
		*(uint32_t *)value = (uint32_t)shares->sites.count;
		r = vec_push(&shares->sites, (struct wait_site_total){});
		if (r < 0) {
			(void)hash_table_remove(shares->index, owner);
			return r;
		}
	}
	*ret_site = *(uint32_t *)value;
	shares->sites.items[*ret_site].others_ns += others_ns;
	return 0;
}

/*
 * Waits like this one that had no stack: the kernel side drew one in 2^shift. Each of them was shorter by what taking
 * the stack added, where the CPU that was busy with it had to wake the thread. Never nothing: others may have come
 * while the lot was thinner than it is now.
 */
static uint64_t weight_of(const struct abi_wait *wait, uint64_t piece_ns)
{
	uint64_t undisturbed_ns = MAX(piece_ns > wait->capture_ns ? piece_ns - wait->capture_ns : 0, piece_ns / 8);
	uint64_t n_others = wait->weight_shift > 0 ? (UINT64_C(1) << wait->weight_shift) - 1 : 1;

	return MAX(undisturbed_ns, UINT64_C(1)) * n_others;
}

int wait_shares_add_row(struct wait_shares *shares, uint32_t site, const struct abi_wait *wait, size_t row,
			uint64_t piece_ns)
{
	struct wait_share share = { .row = row, .site = site, .weight = weight_of(wait, piece_ns) };

	shares->sites.items[site].weight += share.weight;
	return vec_push(&shares->shares, share);
}

void wait_shares_settle(struct wait_shares *shares, struct window_row *rows)
{
	for (size_t i = 0; i < shares->shares.count; i++) {
		const struct wait_share *share = &shares->shares.items[i];
		struct wait_site_total *site = &shares->sites.items[share->site];
		uint64_t part_ns = (uint64_t)((unsigned __int128)site->others_ns * share->weight / site->weight);

		/* Of what is left, so that nothing is lost to rounding. */
		rows[share->row].value += part_ns;
		site->others_ns -= part_ns;
		site->weight -= share->weight;
	}
	vec_clear(&shares->shares);
	vec_clear(&shares->sites);
	hash_table_clear(shares->index);
}
