/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/fleet_run.h"

#include <string.h>

#include "common/clock.h"
#include "tests/support/batch_builder.h"

/* Requests at a time while agents send their first definitions, so that the server does not refuse
 * them. */
#define WARM_UP_REQUESTS 16

/* One agent in FORGOTTEN_OF continues an epoch that the server does not know. */
#define FORGOTTEN_OF 50

/* Longest pause of the loop. */
#define MAX_PAUSE_NS (50 * NSEC_PER_MSEC)

#define DRAIN_TIMEOUT_NS (300 * NSEC_PER_SEC)

static uint64_t now_ns(void)
{
	return clock_wall_ns(&system_clock);
}

/*
 * The first quarter of a capture has the definitions of an agent that was just started. Agents
 * start in the next three eighths, so that a minute also has the definitions of the rest.
 */
static size_t first_batch(const struct capture *capture, size_t start)
{
	return capture->n_batches / 4 + start * capture->n_batches * 3 / 8 / FLEET_STARTS;
}

static int open_captures(struct fleet *fleet)
{
	const struct fleet_options *options = fleet->options;
	char message[CAPTURE_MESSAGE_SIZE];

	for (size_t i = 0; i < options->n_captures; i++) {
		int r = capture_open(options->capture_folders[i], &fleet->captures[i], message);

		if (r < 0) {
			fprintf(stderr, "cannot read a capture: %s\n", message);
			return r;
		}
		for (size_t k = 0; r == 0 && k < FLEET_STARTS; k++) {
			struct virtual_agent_start *start = &fleet->starts[i][k];

			start->position = first_batch(fleet->captures[i], k);
			r = replay_definitions(fleet->captures[i], start->position, NULL,
					       &start->builder, &start->message);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static size_t capture_of_agent(const struct fleet_options *options, uint32_t agent)
{
	/* 37 and 100 have no common divisor: every hundred agents have each remainder once. */
	unsigned int place = agent * 37 % 100;
	size_t capture = 0;

	while (capture + 1 < options->n_captures && place >= options->capture_pct[capture])
		place -= options->capture_pct[capture++];
	return capture;
}

static void init_agents(struct fleet *fleet)
{
	const struct fleet_options *options = fleet->options;

	for (uint32_t i = 0; i < options->n_agents; i++) {
		size_t capture = capture_of_agent(options, i);
		const struct virtual_agent_start *start = &fleet->starts[capture][i % FLEET_STARTS];

		fleet->agent_starts[i] = start;
		virtual_agent_init(&fleet->agents[i],
				   &(struct virtual_agent_options){
					   .index = i,
					   .capture = fleet->captures[capture],
					   .position = start->position,
					   .due_ns = now_ns(),
					   .own_executables_pct = options->own_executables_pct,
					   .retry_pct = options->retry_pct,
					   .server_forgot = i % FORGOTTEN_OF == FORGOTTEN_OF - 1,
				   });
	}
}

int fleet_new(const struct fleet_options *options, struct fleet **ret_fleet)
{
	scoped(fleet_freep) struct fleet *fleet = calloc(1, sizeof(*fleet));
	int r;

	if (!fleet)
		return -ENOMEM;
	fleet->options = options;
	fleet->agents = calloc(options->n_agents, sizeof(*fleet->agents));
	fleet->agent_starts = calloc(options->n_agents, sizeof(*fleet->agent_starts));
	fleet->waits = calloc(options->n_agents, sizeof(*fleet->waits));
	if (!fleet->agents || !fleet->agent_starts || !fleet->waits)
		return -ENOMEM;
	r = arena_new(BATCH_MAX_DECODED_BYTES, &fleet->scratch);
	if (r == 0)
		r = fleet_http_new(options->server, options->n_agents, &fleet->http);
	if (r == 0)
		r = open_captures(fleet);
	if (r < 0)
		return r;
	init_agents(fleet);
	*ret_fleet = take_ptr(fleet);
	return 0;
}

struct fleet *fleet_free(struct fleet *fleet)
{
	if (!fleet)
		return NULL;
	(void)fleet_http_free(fleet->http);
	for (uint32_t i = 0; fleet->agents && i < fleet->options->n_agents; i++)
		virtual_agent_release(&fleet->agents[i]);
	for (size_t i = 0; i < FLEET_MAX_CAPTURES; i++) {
		for (size_t k = 0; k < FLEET_STARTS; k++)
			(void)batch_builder_free(fleet->starts[i][k].builder);
		(void)capture_free(fleet->captures[i]);
	}
	vec_release(&fleet->answers);
	vec_release(&fleet->deliveries);
	(void)arena_free(fleet->scratch);
	free(fleet->agents);
	free(fleet->agent_starts);
	free(fleet->waits);
	free(fleet);
	return NULL;
}

static int send_next(struct fleet *fleet, uint32_t index)
{
	struct virtual_agent *agent = &fleet->agents[index];
	int r;

	r = virtual_agent_encode(agent, fleet->agent_starts[index], fleet->scratch);
	if (r == 0)
		r = fleet_http_post(fleet->http, index, bytes_view_of(&agent->body));
	if (r < 0)
		return r;
	fleet->waits[index] = true;
	fleet->n_waiting++;
	return 0;
}

static int count_acknowledged(struct fleet *fleet, const struct virtual_agent *agent,
			      uint64_t due_ns, const struct fleet_answer *answer)
{
	uint64_t now = now_ns();
	int r;

	fleet->counts.n_accepted++;
	fleet->counts.n_bytes += agent->body.size;
	r = vec_push(&fleet->answers, answer->duration_ns);
	if (r == 0)
		r = vec_push(&fleet->deliveries, now > due_ns ? now - due_ns : 0);
	return r;
}

static int on_answer(void *argument, const struct fleet_answer *answer)
{
	struct fleet *fleet = argument;
	struct virtual_agent *agent = &fleet->agents[answer->agent];
	uint64_t due_ns =
		replay_closed_wall_ns(&agent->replay, agent->position) - (uint64_t)agent->skew_ns;
	int r;

	fleet->waits[answer->agent] = false;
	fleet->n_waiting--;
	if (answer->status == 0)
		fleet->counts.n_unanswered++;
	else if (answer->status != 200)
		fleet->counts.n_refused++;
	r = virtual_agent_answered(agent, now_ns(), answer->status, answer->body, fleet->scratch);
	switch (r) {
	case AGENT_ACKNOWLEDGED:
		return count_acknowledged(fleet, agent, due_ns, answer);
	case AGENT_UNKNOWN:
		fleet->counts.n_supplements++;
		return 0;
	case AGENT_REFUSED:
		fprintf(stderr, "the server refuses a batch of '%s' (status %ld): %.*s\n",
			agent->host.name, answer->status, (int)MIN(answer->body.size, (size_t)300),
			answer->body.data ? (const char *)answer->body.data : "");
		return -EBADMSG;
	default:
		return MIN(r, 0);
	}
}

int fleet_warm_up(struct fleet *fleet)
{
	bool finished = false;
	int r = 0;

	while (r == 0 && !finished) {
		finished = fleet->n_waiting == 0;
		for (uint32_t i = 0; r == 0 && i < fleet->options->n_agents; i++) {
			if (fleet->agents[i].sends == AGENT_SENDS_BATCH)
				continue;
			finished = false;
			if (!fleet->waits[i] && fleet->n_waiting < WARM_UP_REQUESTS &&
			    virtual_agent_due_ns(&fleet->agents[i]) <= now_ns())
				r = send_next(fleet, i);
		}
		if (r == 0)
			r = fleet_http_run(fleet->http, MAX_PAUSE_NS, on_answer, fleet);
	}
	fleet->counts = (struct fleet_counts){};
	return r;
}

static bool is_unfinished(const struct virtual_agent *agent)
{
	return agent->sends != AGENT_SENDS_BATCH || agent->batch_sequence != 0;
}

/* Sends what is due; with @finishes only what was sent before. *ret_next_ns: when to call again. */
static int send_due(struct fleet *fleet, bool finishes, uint64_t *ret_next_ns)
{
	uint64_t now = now_ns(), next_ns = now + MAX_PAUSE_NS;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < fleet->options->n_agents; i++) {
		uint64_t due_ns;

		if (fleet->waits[i] || (finishes && !is_unfinished(&fleet->agents[i])))
			continue;
		due_ns = virtual_agent_due_ns(&fleet->agents[i]);
		if (due_ns <= now)
			r = send_next(fleet, i);
		else
			next_ns = MIN(next_ns, due_ns);
	}
	*ret_next_ns = next_ns;
	return r;
}

static int step(struct fleet *fleet, bool finishes)
{
	uint64_t next_ns, now;
	int r;

	r = send_due(fleet, finishes, &next_ns);
	if (r < 0)
		return r;
	now = now_ns();
	return fleet_http_run(fleet->http, next_ns > now ? next_ns - now : 0, on_answer, fleet);
}

/* The batches of @agent that were due before @end_ns. */
static uint64_t count_late(const struct virtual_agent *agent, uint64_t end_ns)
{
	struct replay replay = agent->replay;
	size_t position = agent->position;
	uint64_t count = 0;

	while (replay_closed_wall_ns(&replay, position) - (uint64_t)agent->skew_ns < end_ns) {
		count++;
		if (++position == replay.capture->n_batches) {
			position = 0;
			replay.lap++;
		}
	}
	/* A batch that is sent for the second time was acknowledged. */
	return agent->sends == AGENT_SENDS_RETRY && count > 0 ? count - 1 : count;
}

static uint64_t samples_of(const struct fleet *fleet)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < fleet->options->n_agents; i++)
		sum += fleet->agents[i].n_samples;
	return sum;
}

int fleet_measure(struct fleet *fleet, uint64_t duration_ns)
{
	uint64_t began_ns = now_ns() + NSEC_PER_SEC, end_ns = began_ns + duration_ns;
	int r = 0;

	for (uint32_t i = 0; i < fleet->options->n_agents; i++) {
		const struct capture *capture = fleet->agents[i].replay.capture;
		uint64_t interval_ns = replay_lap_ns(capture) / capture->n_batches;
		uint64_t phase_ns = hash64_of(&i, sizeof(i)) % interval_ns;

		virtual_agent_set_due(&fleet->agents[i], began_ns + phase_ns);
	}
	while (r == 0 && now_ns() < end_ns)
		r = step(fleet, false);
	for (uint32_t i = 0; i < fleet->options->n_agents; i++)
		fleet->counts.n_late += count_late(&fleet->agents[i], end_ns);
	fleet->counts.n_samples = samples_of(fleet);
	return r;
}

int fleet_drain(struct fleet *fleet)
{
	struct fleet_counts counts = fleet->counts;
	uint64_t deadline_ns = now_ns() + DRAIN_TIMEOUT_NS;
	bool finished = false;
	int r = 0;

	while (r == 0 && !finished) {
		finished = true;
		for (uint32_t i = 0; finished && i < fleet->options->n_agents; i++)
			finished = !fleet->waits[i] && !is_unfinished(&fleet->agents[i]);
		if (!finished && now_ns() > deadline_ns) {
			fprintf(stderr, "batches are still not acknowledged after %llu s\n",
				(unsigned long long)(DRAIN_TIMEOUT_NS / NSEC_PER_SEC));
			return -ETIMEDOUT;
		}
		if (!finished)
			r = step(fleet, true);
	}
	fleet->counts = counts;
	return r;
}
