/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/event/off_cpu/skipped_waits.h"

static_assert(sizeof(struct wait_site_key) == 3 * sizeof(uint32_t), "keys are compared as bytes");

int skipped_waits_init(struct skipped_waits *waits)
{
	*waits = (struct skipped_waits){};
	return hash_table_new(sizeof(struct wait_site_key), sizeof(uint32_t), 0, &waits->index);
}

void skipped_waits_release(struct skipped_waits *waits)
{
	waits->index = hash_table_free(waits->index);
	vec_release(&waits->sites);
	vec_release(&waits->captured);
}

int skipped_waits_add_time(struct skipped_waits *waits, const struct wait_site_key *key,
			   const struct abi_wait *wait, uint32_t *ret_site)
{
	struct wait_site *site;
	void *value;
	int r;

	r = hash_table_insert(waits->index, key, &value);
	if (r < 0)
		return r;
	if (r == 1) {
		*(uint32_t *)value = (uint32_t)waits->sites.count;
		r = vec_push(&waits->sites, (struct wait_site){});
		if (r < 0) {
			(void)hash_table_remove(waits->index, key);
			return r;
		}
	}
	*ret_site = *(uint32_t *)value;
	site = &waits->sites.items[*ret_site];
	site->skipped_ns += wait->others_ns;
	site->n_skipped += wait->n_others;
	return 0;
}

/* At least 1: the site may have skipped waits while its sampling rate was lower than it is now. */
static uint32_t skipped_per_captured(const struct abi_wait *wait)
{
	return wait->weight_shift > 0 ? (UINT32_C(1) << wait->weight_shift) - 1 : 1;
}

int skipped_waits_add_row(struct skipped_waits *waits, uint32_t site_index,
			  const struct abi_wait *wait, size_t row, uint64_t piece_ns)
{
	const struct captured_wait captured = {
		.row = row,
		.site = site_index,
		.n_skipped = skipped_per_captured(wait),
		.piece_ns = piece_ns,
	};
	struct wait_site *site = &waits->sites.items[site_index];

	assert(site_index < waits->sites.count);
	site->n_captured++;
	site->captured_ns += piece_ns;
	site->capture_ns += wait->capture_us * NSEC_PER_USEC;
	return vec_push(&waits->captured, captured);
}

/*
 * By how much capturing lengthened a wait on average: at least 0, at most the mean time that
 * capturing a stack took.
 */
static uint64_t lengthened_ns(const struct wait_site *site)
{
	uint64_t captured_ns = site->captured_ns / site->n_captured;
	uint64_t skipped_ns =
		site->n_skipped > 0 ? site->skipped_ns / site->n_skipped : captured_ns;

	if (captured_ns <= skipped_ns)
		return 0;
	return MIN(captured_ns - skipped_ns, site->capture_ns / site->n_captured);
}

/* At least 1/8 of the measured duration, because the lengthening is only a mean. */
static uint64_t weight_of(const struct captured_wait *captured, const struct wait_site *site)
{
	uint64_t piece_ns = captured->piece_ns;
	uint64_t without_capture_ns =
		piece_ns > site->lengthened_ns ? piece_ns - site->lengthened_ns : 0;

	return MAX(without_capture_ns, piece_ns / 8 + 1) * captured->n_skipped;
}

static void weigh_sites(struct skipped_waits *waits)
{
	for (size_t i = 0; i < waits->sites.count; i++) {
		struct wait_site *site = &waits->sites.items[i];

		if (site->n_captured > 0)
			site->lengthened_ns = lengthened_ns(site);
	}
	for (size_t i = 0; i < waits->captured.count; i++) {
		const struct captured_wait *captured = &waits->captured.items[i];
		struct wait_site *site = &waits->sites.items[captured->site];

		site->weight += weight_of(captured, site);
	}
}

void skipped_waits_distribute(struct skipped_waits *waits, struct window_row *rows)
{
	weigh_sites(waits);
	for (size_t i = 0; i < waits->captured.count; i++) {
		const struct captured_wait *captured = &waits->captured.items[i];
		struct wait_site *site = &waits->sites.items[captured->site];
		uint64_t weight = weight_of(captured, site);
		uint64_t part_ns;

		assert(weight > 0 && weight <= site->weight);
		part_ns = (uint64_t)((unsigned __int128)site->skipped_ns * weight / site->weight);
		/* A part of the remaining time, so that rounding loses nothing. */
		rows[captured->row].value += part_ns;
		site->skipped_ns -= part_ns;
		site->weight -= weight;
	}
	vec_clear(&waits->captured);
	vec_clear(&waits->sites);
	hash_table_clear(waits->index);
}
