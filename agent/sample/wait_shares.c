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

int wait_shares_add_time(struct wait_shares *shares, const struct wait_owner *owner,
			 const struct abi_wait *wait, uint32_t *ret_site)
{
	struct wait_site_total *site;
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
	site = &shares->sites.items[*ret_site];
	site->others_ns += wait->others_ns;
	site->n_others += wait->n_others;
	return 0;
}

int wait_shares_add_row(struct wait_shares *shares, uint32_t site_index,
			const struct abi_wait *wait, size_t row, uint64_t piece_ns)
{
	struct wait_site_total *site = &shares->sites.items[site_index];

	site->n_taken++;
	site->taken_ns += piece_ns;
	site->capture_ns += wait->capture_us * NSEC_PER_USEC;
	return vec_push(&shares->shares,
			(struct wait_share){
				.row = row,
				.site = site_index,
				/*
				 * Never none: others may have come while the lot was thinner than
				 * it is now.
				 */
				.n_others = wait->weight_shift > 0
						    ? (UINT32_C(1) << wait->weight_shift) - 1
						    : 1,
				.piece_ns = piece_ns,
			});
}

/* Between nothing and all that taking the stacks took. */
static uint64_t lengthened_ns(const struct wait_site_total *site)
{
	uint64_t taken_ns = site->taken_ns / site->n_taken;
	uint64_t others_ns = site->n_others > 0 ? site->others_ns / site->n_others : taken_ns;

	return taken_ns > others_ns ? MIN(taken_ns - others_ns, site->capture_ns / site->n_taken)
				    : 0;
}

static uint64_t weight_of(const struct wait_share *share, const struct wait_site_total *site)
{
	uint64_t rest_ns =
		share->piece_ns > site->lengthened_ns ? share->piece_ns - site->lengthened_ns : 0;
	uint64_t least_ns = share->piece_ns / 8 + 1;

	return MAX(rest_ns, least_ns) * share->n_others;
}

void wait_shares_settle(struct wait_shares *shares, struct window_row *rows)
{
	for (size_t i = 0; i < shares->sites.count; i++) {
		if (shares->sites.items[i].n_taken > 0)
			shares->sites.items[i].lengthened_ns =
				lengthened_ns(&shares->sites.items[i]);
	}
	for (size_t i = 0; i < shares->shares.count; i++) {
		struct wait_site_total *site = &shares->sites.items[shares->shares.items[i].site];

		site->weight += weight_of(&shares->shares.items[i], site);
	}
	for (size_t i = 0; i < shares->shares.count; i++) {
		const struct wait_share *share = &shares->shares.items[i];
		struct wait_site_total *site = &shares->sites.items[share->site];
		uint64_t weight = weight_of(share, site);
		uint64_t part_ns =
			(uint64_t)((unsigned __int128)site->others_ns * weight / site->weight);

		/* Of what is left, so that nothing is lost to rounding. */
		rows[share->row].value += part_ns;
		site->others_ns -= part_ns;
		site->weight -= weight;
	}
	vec_clear(&shares->shares);
	vec_clear(&shares->sites);
	hash_table_clear(shares->index);
}
