/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An agent that sends replayed batches by the rules of docs/wire-format.md: one at a time and in
 * order, each again until it is acknowledged, and definitions that the server does not know in a
 * supplement. It has no socket and no clock:
 *
 *   virtual_agent_init(&agent, ...);
 *   when virtual_agent_due_ns() has come:   virtual_agent_encode(&agent, ...)  and send agent.body
 *   with the server's answer:               virtual_agent_answered(&agent, ...)
 *
 * A batch is due when the agent's host has closed it. A batch that could not be sent in time is
 * sent as soon as the one before is acknowledged.
 */

#include "tests/bench/fleet/replay.h"

enum virtual_agent_sends {
	AGENT_SENDS_START,      /* all definitions of the batches before the first one it sends */
	AGENT_SENDS_BATCH,      /* the next batch */
	AGENT_SENDS_SUPPLEMENT, /* the numbers that the server did not know */
	AGENT_SENDS_RETRY,      /* a batch that was acknowledged, as if the answer had been lost */
};

struct virtual_agent {
	struct replay_host host;
	struct replay replay;         /* refers to @host */
	size_t position;              /* of the next batch in the capture */
	uint64_t sequence;            /* the last one used */
	uint64_t batch_sequence;      /* of the batch at @position; 0: it has none yet */
	uint64_t supplement_sequence; /* of @supplement */
	uint64_t sent_sequence;       /* of @body */
	int64_t skew_ns;              /* the host's wall clock - ours */
	enum virtual_agent_sends sends;
	unsigned int retry_pct;
	unsigned int failures;   /* in a row */
	uint64_t not_before_ns;  /* after a failure */
	struct bytes body;       /* what was encoded last */
	struct bytes supplement; /* an encoded supplement that is sent next */
	/* Sums over the acknowledged batches. */
	uint64_t sums[EVENT_TYPE_END];
	uint64_t n_acknowledged, n_samples;
};

/* All definitions before a position of a capture, made once for all agents that start there. */
struct virtual_agent_start {
	size_t position;
	struct batch_builder *builder;
	Hearth__V1__Batch *message; /* NULL for position 0 */
};

struct virtual_agent_options {
	uint32_t index;
	const struct capture *capture;
	size_t position; /* of the first batch */
	uint64_t due_ns; /* when the first batch is due, wall clock */
	unsigned int own_executables_pct;
	unsigned int retry_pct; /* of batches that are sent again although they were acknowledged */
	/* It does not send earlier definitions first, as if the server had lost them. */
	bool server_forgot;
};

void virtual_agent_init(struct virtual_agent *agent, const struct virtual_agent_options *options);

/* Steps the clock of the host, so that the next batch is due at @due_ns. */
void virtual_agent_set_due(struct virtual_agent *agent, uint64_t due_ns);

void virtual_agent_release(struct virtual_agent *agent);

/* When the agent sends next, wall clock. Not to be called while an answer is awaited. */
uint64_t virtual_agent_due_ns(const struct virtual_agent *agent);

/* Encodes what is sent next into agent->body. Returns 0 or a negative errno. */
int virtual_agent_encode(struct virtual_agent *agent, const struct virtual_agent_start *start,
			 struct arena *scratch);

enum virtual_agent_result {
	AGENT_ACKNOWLEDGED, /* a batch is stored */
	AGENT_CONTINUES,    /* definitions are stored, or a batch is for the second time */
	AGENT_UNKNOWN,      /* the server lacks numbers, which the agent sends next */
	AGENT_TRIES_AGAIN,  /* refused for now, or no answer */
	AGENT_REFUSED,      /* refused for ever: a defect */
};

/* @status is 0 if there was no answer. Returns enum virtual_agent_result or a negative errno. */
int virtual_agent_answered(struct virtual_agent *agent, uint64_t now_ns, long status,
			   struct bytes_view answer, struct arena *scratch);
