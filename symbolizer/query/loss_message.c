/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/query/loss_message.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/limits.h"
#include "symbolizer/query/coverage.h"
#include "symbolizer/query/profile_message.h"

/* Shares below these have no sentence. A host loses less than 1 % when it is merely busy. */
#define LEAST_LOST_SHARE 0.01
#define LEAST_CUT_SHARE  0.1

/* A gap has a sentence if a host lacks this share of its time. */
#define LEAST_GAP_SHARE 0.01

typedef double (*share_function)(const struct host_losses *host);

/* Ticks that should have become samples. */
static uint64_t busy_ticks(const struct loss_counts *counts)
{
	return counts->ticks_sampled + counts->ticks_ring_full + counts->ticks_failed +
	       counts->ticks_missed;
}

static double share_of(uint64_t part, uint64_t whole)
{
	return whole > 0 ? (double)part / (double)whole : 0;
}

static double ring_share(const struct host_losses *host)
{
	return share_of(host->counts.ticks_ring_full, busy_ticks(&host->counts));
}

static double untaken_share(const struct host_losses *host)
{
	return share_of(host->counts.ticks_failed + host->counts.ticks_missed,
			busy_ticks(&host->counts));
}

static double waits_share(const struct host_losses *host)
{
	return share_of(host->counts.waits_lost,
			host->counts.waits_sampled + host->counts.waits_lost);
}

static double stacks_share(const struct host_losses *host)
{
	return share_of(host->counts.stacks_lost, host->counts.samples);
}

static double gap_share(const struct host_losses *host)
{
	return share_of(host->gap_slots, host->gap_slots + host->covered_slots);
}

static double dropped_count(const struct host_losses *host)
{
	return (double)MAX(host->counts.batches_dropped, host->n_missing);
}

/* The host with the largest share that is not less than @least, and the number of such hosts. */
struct worst {
	const struct host_losses *host; /* NULL: none */
	double share;
	size_t count;
};

static struct worst find_worst(const struct host_losses *hosts, size_t count, share_function share,
			       double least)
{
	struct worst worst = {};

	for (size_t i = 0; i < count; i++) {
		double value = share(&hosts[i]);

		if (value < least)
			continue;
		worst.count++;
		if (!worst.host || value > worst.share) {
			worst.host = &hosts[i];
			worst.share = value;
		}
	}
	return worst;
}

#define HOST_TEXT_SIZE 128

/* "host 'a'", "host 'a' (and of 2 more)" */
static const char *host_text(const struct worst *worst, char ret_text[HOST_TEXT_SIZE])
{
	char more[40] = "";

	if (worst->count > 1)
		(void)snprintf(more, sizeof(more), " (and of %zu more)", worst->count - 1);
	(void)snprintf(ret_text, HOST_TEXT_SIZE, "host '%.60s'%s", worst->host->machine.host->name,
		       more);
	return ret_text;
}

static void append_ring(char *message, const struct host_losses *hosts, size_t count)
{
	struct worst worst = find_worst(hosts, count, ring_share, LEAST_LOST_SHARE);
	char host[HOST_TEXT_SIZE], since[PROFILE_TIME_TEXT_SIZE], until[PROFILE_TIME_TEXT_SIZE];

	if (!worst.host)
		return;
	profile_message_append(
		message,
		"%.2g %% of the samples of %s were lost in the ring buffer between %s and %s",
		100 * worst.share, host_text(&worst, host),
		profile_message_time(worst.host->ring_full_since_ns / SLOT_NS, since),
		profile_message_time(worst.host->ring_full_until_ns / SLOT_NS, until));
}

static void append_share(char *message, const struct worst *worst, const char *subject,
			 const char *loss)
{
	char host[HOST_TEXT_SIZE];

	if (worst->host)
		profile_message_append(message, "%.2g %% of the %s of %s %s", 100 * worst->share,
				       subject, host_text(worst, host), loss);
}

static void append_dropped(char *message, const struct host_losses *hosts, size_t count)
{
	struct worst worst = find_worst(hosts, count, dropped_count, 1);
	char host[HOST_TEXT_SIZE];

	if (worst.host)
		profile_message_append(
			message,
			"%.0f batches of %s are missing: they were dropped, or wait in its spool",
			worst.share, host_text(&worst, host));
}

static void append_gaps(char *message, const struct host_losses *hosts, const struct losses *losses)
{
	struct worst worst = find_worst(hosts, losses->n_hosts, gap_share, LEAST_GAP_SHARE);
	const struct loss_gap *gap = &losses->gaps[0];
	char since[PROFILE_TIME_TEXT_SIZE], until[PROFILE_TIME_TEXT_SIZE];
	char all[64] = "";

	if (!worst.host || losses->n_listed_gaps == 0)
		return;
	if (losses->n_gaps > 1)
		(void)snprintf(all, sizeof(all), " (%" PRIu64 " gaps, %" PRIu64 " s in total)",
			       losses->n_gaps, coverage_seconds(losses->gap_slots));
	if (gap->at_end)
		profile_message_append(
			message,
			"host '%.60s' has sent nothing since %s: its agent stopped, or its batches "
			"are delayed%s",
			gap->host, profile_message_time(gap->first_slot, since), all);
	else
		profile_message_append(message, "no agent ran on host '%.60s' from %s to %s%s",
				       gap->host, profile_message_time(gap->first_slot, since),
				       profile_message_time(gap->end_slot, until), all);
}

void loss_message_append(char message[PROFILE_MESSAGE_SIZE], const struct profile_request *request,
			 const struct host_losses *hosts, const struct losses *losses)
{
	size_t count = losses->n_hosts;
	struct worst worst;

	if (profile_has_type(request, EVENT_ON_CPU)) {
		append_ring(message, hosts, count);
		worst = find_worst(hosts, count, untaken_share, LEAST_LOST_SHARE);
		append_share(message, &worst, "timer ticks", "were not taken");
	}
	if (profile_has_type(request, EVENT_OFF_CPU) ||
	    profile_has_type(request, EVENT_RUN_QUEUE)) {
		worst = find_worst(hosts, count, waits_share, LEAST_LOST_SHARE);
		append_share(message, &worst, "waits", "were lost in the ring buffer");
	}
	worst = find_worst(hosts, count, stacks_share, LEAST_LOST_SHARE);
	append_share(message, &worst, "samples", "lost their stack");
	append_dropped(message, hosts, count);
	append_gaps(message, hosts, losses);
}

void loss_message_append_cut(char message[PROFILE_MESSAGE_SIZE], const struct profile_stats *stats)
{
	double share = share_of(stats->value_cut, stats->value_total);
	unsigned int most = STACK_CUT_NONE;

	if (share < LEAST_CUT_SHARE)
		return;
	for (unsigned int i = 0; i < STACK_CUT_END; i++)
		if (stats->value_cut_by[i] > stats->value_cut_by[most])
			most = i;
	profile_message_append(message, "%.2g %% have stacks that end early (most of them: %s)",
			       100 * share,
			       most == STACK_CUT_NONE ? "unknown reason" : stack_cut_name(most));
}
