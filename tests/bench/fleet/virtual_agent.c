/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/virtual_agent.h"

#include <stdlib.h>

#include "proto/proto_arena.h"
#include "tests/support/batch_builder.h"

/* Clocks of hosts differ from ours by at most this. */
#define MAX_SKEW_NS ((int64_t)(2 * NSEC_PER_SEC))

/* As the agent's: 1 s, 2 s, 4 s, ... up to a minute, less up to a quarter. */
#define FIRST_BACKOFF_NS NSEC_PER_SEC
#define MAX_BACKOFF_NS   (60 * NSEC_PER_SEC)

static uint64_t random_of(const struct virtual_agent *agent, uint64_t purpose)
{
	const uint64_t key[] = { agent->host.index, agent->replay.lap, agent->position, purpose };

	return hash64_of(key, sizeof(key));
}

/* When lap 0 opens by the clock of the host, if the next batch is due at @due_ns. */
static uint64_t opened_wall_ns(const struct virtual_agent *agent, const struct capture *capture,
			       uint64_t due_ns)
{
	uint64_t before_ns =
		capture->batches[agent->position].message->closed_monotonic_ns - capture->opened_ns;

	return due_ns - before_ns + (uint64_t)agent->skew_ns;
}

void virtual_agent_init(struct virtual_agent *agent, const struct virtual_agent_options *options)
{
	*agent = (struct virtual_agent){
		.position = options->position,
		.sends = options->position > 0 && !options->server_forgot ? AGENT_SENDS_START
									  : AGENT_SENDS_BATCH,
		.retry_pct = options->retry_pct,
		.body = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES),
		.supplement = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES),
	};
	agent->host.index = options->index;
	agent->skew_ns =
		(int64_t)(random_of(agent, 'c') % (2 * (uint64_t)MAX_SKEW_NS)) - MAX_SKEW_NS;
	replay_host_init(&agent->host, options->capture, options->index,
			 opened_wall_ns(agent, options->capture, options->due_ns));
	agent->host.own_executables_pct = options->own_executables_pct;
	agent->replay = (struct replay){ .capture = options->capture, .host = &agent->host };
}

void virtual_agent_set_due(struct virtual_agent *agent, uint64_t due_ns)
{
	replay_host_set_clock(&agent->host, agent->replay.capture,
			      opened_wall_ns(agent, agent->replay.capture, due_ns));
}

void virtual_agent_release(struct virtual_agent *agent)
{
	bytes_release(&agent->body);
	bytes_release(&agent->supplement);
}

uint64_t virtual_agent_due_ns(const struct virtual_agent *agent)
{
	uint64_t closed_ns;

	if (agent->sends != AGENT_SENDS_BATCH)
		return agent->not_before_ns;
	closed_ns =
		replay_closed_wall_ns(&agent->replay, agent->position) - (uint64_t)agent->skew_ns;
	return MAX(closed_ns, agent->not_before_ns);
}

int virtual_agent_encode(struct virtual_agent *agent, const struct virtual_agent_start *start,
			 struct arena *scratch)
{
	const struct capture *capture = agent->replay.capture;

	/* A retry repeats the bytes of the batch. */
	if (agent->sends == AGENT_SENDS_RETRY)
		return 0;
	bytes_clear(&agent->body);
	switch (agent->sends) {
	case AGENT_SENDS_START:
		agent->sent_sequence = ++agent->sequence;
		return replay_encode(&agent->replay, start->message, agent->sent_sequence, scratch,
				     &agent->body);
	case AGENT_SENDS_SUPPLEMENT:
		agent->sent_sequence = agent->supplement_sequence;
		return bytes_append(&agent->body, agent->supplement.data, agent->supplement.size);
	default:
		if (agent->batch_sequence == 0)
			agent->batch_sequence = ++agent->sequence;
		agent->sent_sequence = agent->batch_sequence;
		return replay_encode(&agent->replay, capture->batches[agent->position].message,
				     agent->sent_sequence, scratch, &agent->body);
	}
}

static void next_batch(struct virtual_agent *agent)
{
	agent->sends = AGENT_SENDS_BATCH;
	agent->batch_sequence = 0;
	if (++agent->position < agent->replay.capture->n_batches)
		return;
	agent->position = 0;
	agent->replay.lap++;
}

static int count_batch(struct virtual_agent *agent)
{
	const struct capture_batch *batch = &agent->replay.capture->batches[agent->position];

	for (int type = 0; type < EVENT_TYPE_END; type++)
		agent->sums[type] += batch->sums[type];
	agent->n_samples += batch->n_samples;
	agent->n_acknowledged++;
	if (random_of(agent, 'r') % 100 < agent->retry_pct)
		agent->sends = AGENT_SENDS_RETRY;
	else
		next_batch(agent);
	return AGENT_ACKNOWLEDGED;
}

static int accept(struct virtual_agent *agent)
{
	agent->failures = 0;
	agent->not_before_ns = 0;
	switch (agent->sends) {
	case AGENT_SENDS_BATCH:
		return count_batch(agent);
	case AGENT_SENDS_RETRY:
		next_batch(agent);
		return AGENT_CONTINUES;
	default:
		agent->sends = AGENT_SENDS_BATCH;
		return AGENT_CONTINUES;
	}
}

static int try_again(struct virtual_agent *agent, uint64_t now_ns)
{
	uint64_t backoff_ns = FIRST_BACKOFF_NS << MIN(agent->failures, 6u);

	backoff_ns = MIN(backoff_ns, MAX_BACKOFF_NS);
	agent->failures++;
	backoff_ns -= random_of(agent, agent->failures) % (backoff_ns / 4);
	agent->not_before_ns = now_ns + backoff_ns;
	return AGENT_TRIES_AGAIN;
}

static bool has_unknown(const Hearth__V1__BatchAnswer *answer)
{
	return answer->n_unknown_stacks || answer->n_unknown_series ||
	       answer->n_unknown_processes || answer->n_unknown_executables ||
	       answer->n_unknown_code_objects;
}

static int define_unknown(struct virtual_agent *agent, const Hearth__V1__BatchAnswer *answer)
{
	scoped(batch_builder_freep) struct batch_builder *builder = NULL;
	scoped(arena_freep) struct arena *scratch = NULL;
	struct replay replay = agent->replay;
	const size_t n_batches = replay.lap > 0 ? replay.capture->n_batches : agent->position + 1;
	Hearth__V1__Batch *message;
	int r;

	r = arena_new(BATCH_MAX_DECODED_BYTES, &scratch);
	if (r < 0)
		return r;
	r = replay_definitions(replay.capture, n_batches, answer, &builder, &message);
	if (r < 0)
		return r;
	bytes_clear(&agent->supplement);
	agent->supplement_sequence = ++agent->sequence;
	replay.keeps_definitions = true;
	r = replay_encode(&replay, message, agent->supplement_sequence, scratch,
			  &agent->supplement);
	if (r < 0)
		return r;
	agent->sends = AGENT_SENDS_SUPPLEMENT;
	return AGENT_UNKNOWN;
}

int virtual_agent_answered(struct virtual_agent *agent, uint64_t now_ns, long status,
			   struct bytes_view answer, struct arena *scratch)
{
	const Hearth__V1__BatchAnswer *message;

	if (status == 400 || status == 413 || status == 415 || status == 422)
		return AGENT_REFUSED;
	if (status != 200)
		return try_again(agent, now_ns);
	arena_clear(scratch);
	message = proto_arena_unpack(&hearth__v1__batch_answer__descriptor, scratch, answer, NULL);
	if (!message || message->epoch != replay_epoch(&agent->replay))
		return AGENT_REFUSED;
	if (has_unknown(message))
		return define_unknown(agent, message);
	if (message->acknowledged_sequence != agent->sent_sequence)
		return AGENT_REFUSED;
	return accept(agent);
}
