/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each call decodes into an arena of its call, so that many calls decode at the same time. The
 * store serializes writes. Wanted executables are looked up after the batch is durable, because an
 * error there must not refuse the batch.
 */

#include "symbolizer/ingest/ingest.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "proto/batch.pb-c.h"
#include "symbolizer/ingest/batch_decoder.h"
#include "symbolizer/ingest/batch_interval.h"
#include "symbolizer/ingest/clock_log.h"
#include "symbolizer/ingest/executables_in_use.h"
#include "symbolizer/ingest/sender_clock.h"

/*
 * Most executables that one answer requests. The agent queues them and uploads at a bounded rate.
 * A new host runs some hundred.
 */
#define MAX_WANTED 64

/* Executables of the agent that are checked again with each batch. */
#define CHECKED_PER_BATCH 64

/*
 * Most lookups in the debuginfo store for one batch, since they hold the lock. Executables beyond
 * it are checked with later batches.
 */
#define MAX_OFFERS 256

/* Executables of one agent that are reloaded after a restart of the server: the latest ones. */
#define MAX_RELOADED 65536

/* Retention would keep a batch with a time further ahead for years. */
#define MAX_CLOCK_AHEAD_NS SENDER_CLOCK_MAX_OFFSET_NS

/* Spools keep days. Batches of a host with its clock at 1970 would create old day files. */
#define MAX_CLOCK_BEHIND_NS (366 * SENDER_CLOCK_MAX_OFFSET_NS)

/* An answer has lists of unknown numbers: below 5 bytes per row of the largest batch. */
#define MAX_ANSWER_BYTES (64 * MIB)

/* Wanted.what of proto/batch.proto, besides enum ingest_policy. */
#define WANTED_KERNEL_SYMBOLS 3

struct ingest {
	struct store *store;
	struct debuginfo_store *debuginfo;
	const struct clock *clock;
	enum ingest_policy policy;
	pthread_mutex_t lock; /* of @in_use */
	struct executables_in_use *in_use;
	struct clock_log *clock_log;
	struct memory_budget *memory; /* NULL: no limit for all batches together */
};

/* The state of one call of ingest_batch(). */
struct ingest_call {
	struct ingest *ingest;
	const char *tenant;
	struct sender_clock sender;
	uint64_t waited_ns; /* before the call */
	bool is_imported;
	struct arena *arena;
	struct batch batch;
	struct store_missing missing;
	struct ingest_result *result;
	struct store_executable *reloaded; /* executables of the agent, from the store */
	size_t n_reloaded;
	size_t n_offers;
	Hearth__V1__BatchAnswer answer;
	Hearth__V1__Wanted wanted[MAX_WANTED];
	Hearth__V1__Wanted *wanted_list[MAX_WANTED];
};

int ingest_new(struct store *store, struct debuginfo_store *debuginfo, const struct clock *clock,
	       struct ingest **ret_ingest)
{
	scoped(ingest_freep) struct ingest *ingest = calloc(1, sizeof(*ingest));
	int r;

	if (!ingest)
		return -ENOMEM;
	ingest->store = store;
	ingest->debuginfo = debuginfo;
	ingest->clock = clock;
	ingest->policy = INGEST_WANTS_SYMBOLS;
	(void)pthread_mutex_init(&ingest->lock, NULL);
	r = executables_in_use_new(&ingest->in_use);
	if (r == 0)
		r = clock_log_new(&ingest->clock_log);
	if (r < 0)
		return r;
	*ret_ingest = take_ptr(ingest);
	return 0;
}

struct ingest *ingest_free(struct ingest *ingest)
{
	if (!ingest)
		return NULL;
	(void)executables_in_use_free(ingest->in_use);
	(void)clock_log_free(ingest->clock_log);
	(void)pthread_mutex_destroy(&ingest->lock);
	free(ingest);
	return NULL;
}

void ingest_set_policy(struct ingest *ingest, enum ingest_policy policy)
{
	ingest->policy = policy;
}

static int fail(struct ingest_call *call, int error, const char *attempt)
{
	char text[128];

	(void)snprintf(call->result->message, INGEST_MESSAGE_SIZE, "%s: %s", attempt,
		       strerror_r(-error, text, sizeof(text)));
	return error;
}

void ingest_set_memory(struct ingest *ingest, struct memory_budget *memory)
{
	ingest->memory = memory;
}

size_t ingest_count_wrong_clocks(struct ingest *ingest)
{
	return clock_log_count(ingest->clock_log);
}

/* Writes the message of a batch that differs by @offset_ns from the server's clock. */
static void format_offset(struct ingest_call *call, const char *subject, int64_t offset_ns,
			  const char *remedy)
{
	(void)snprintf(call->result->message, INGEST_MESSAGE_SIZE,
		       "%s of host '%.100s' is %" PRId64 " s %s the server's%s", subject,
		       call->batch.host.name,
		       (offset_ns > 0 ? offset_ns : -offset_ns) / (int64_t)NSEC_PER_SEC,
		       offset_ns > 0 ? "ahead of" : "behind", remedy);
}

/* Checks whether the clocks of sender and server agree well enough to store the batch. */
static int check_sender(struct ingest_call *call, uint64_t now_ns)
{
	struct clock_observation observation = {
		.agent_id = call->batch.agent_id,
		.host = call->batch.host.name,
		.offset_ns = sender_clock_offset_ns(&call->sender, now_ns),
		.now_ns = clock_monotonic_ns(call->ingest->clock),
	};

	/* Without the header, the agent's clock is known to be ahead by at least this time. */
	if (!call->sender.is_known && call->batch.closed_wall_ns > now_ns)
		observation.offset_ns = (int64_t)(call->batch.closed_wall_ns - now_ns);
	observation.is_refused = observation.offset_ns > SENDER_CLOCK_MAX_OFFSET_NS ||
				 observation.offset_ns < -SENDER_CLOCK_MAX_OFFSET_NS;
	clock_log_observe(call->ingest->clock_log, &observation);
	if (!observation.is_refused)
		return 0;
	format_offset(call, "the clock", observation.offset_ns,
		      ": the agent keeps the batch; set the wrong one of the two clocks");
	return -ETIME;
}

/* Checks whether the time of the batch is possible; the sender's clock is right now. */
static int check_batch_time(struct ingest_call *call, uint64_t now_ns)
{
	int64_t offset_ns = (int64_t)(call->batch.closed_wall_ns - now_ns);

	if (offset_ns <= MAX_CLOCK_AHEAD_NS && offset_ns >= -MAX_CLOCK_BEHIND_NS)
		return 0;
	format_offset(call, "the time of a batch", offset_ns,
		      " clock, which was wrong when the batch was closed");
	return -EBADMSG;
}

static int check_clock(struct ingest_call *call)
{
	uint64_t now_ns = clock_wall_ns(call->ingest->clock);
	int r;

	r = check_sender(call, now_ns);
	if (r < 0)
		return r;
	sender_clock_move(&call->batch, sender_clock_step_ns(&call->sender, &call->batch, now_ns));
	return check_batch_time(call, now_ns);
}

static int decode(struct ingest_call *call, struct bytes_view body)
{
	char message[DECODE_MESSAGE_SIZE];
	int r;

	r = batch_decode(body, call->arena, &call->batch, message);
	if (r < 0) {
		(void)snprintf(call->result->message, INGEST_MESSAGE_SIZE, "%s", message);
		return r;
	}
	return check_clock(call);
}

/*
 * Adds the executable to the answer if the debuginfo store needs it from an agent. Returns 1 if the
 * answer is full, or if the lookups of this batch are used up.
 */
static int offer(struct ingest_call *call, const struct executable_id *id,
		 enum executable_role role, const char *name)
{
	Hearth__V1__Wanted *wanted = &call->wanted[call->answer.n_wanted];
	uint8_t *bytes;
	char *copied_name;
	int r;

	if (call->answer.n_wanted == MAX_WANTED || call->n_offers++ == MAX_OFFERS)
		return 1;
	r = debuginfo_want(call->ingest->debuginfo, id, call->batch.agent_id.bytes);
	if (r <= 0)
		return r;
	bytes = arena_copy(call->arena, id->bytes, id->size);
	copied_name = arena_copy_text(call->arena, name, strlen(name));
	if (!bytes || !copied_name)
		return -ENOMEM;
	hearth__v1__wanted__init(wanted);
	wanted->id_kind = id->kind;
	wanted->id = (ProtobufCBinaryData){ .len = id->size, .data = bytes };
	wanted->what = role == ROLE_KERNEL ? WANTED_KERNEL_SYMBOLS : (uint32_t)call->ingest->policy;
	wanted->name = copied_name;
	wanted->trusted_only = r == DEBUGINFO_ASK_TRUSTED;
	call->wanted_list[call->answer.n_wanted++] = wanted;
	return 0;
}

/*
 * After a restart of the server, the agent does not repeat acknowledged definitions, so its
 * executables are read from the store. This runs without the lock, because the store's readers may
 * all be busy with queries. Returns 1 if the agent is new and its executables were read, 0 if it is
 * known.
 */
static int read_uses(struct ingest_call *call)
{
	struct ingest *ingest = call->ingest;
	bool known;
	int r;

	(void)pthread_mutex_lock(&ingest->lock);
	known = agent_use_is_known(ingest->in_use, call->tenant, &call->batch);
	(void)pthread_mutex_unlock(&ingest->lock);
	if (known)
		return 0;
	r = store_agent_executables(ingest->store, call->tenant, &call->batch.agent_id,
				    call->batch.epoch, MAX_RELOADED, call->arena, &call->reloaded,
				    &call->n_reloaded);
	return r < 0 ? r : 1;
}

static int record_uses(struct ingest_call *call, struct agent_in_use **ret_agent)
{
	struct executables_in_use *in_use = call->ingest->in_use;
	const struct batch *batch = &call->batch;
	int r;

	r = agent_use(in_use, call->tenant, batch, ret_agent);
	for (size_t i = 0; r >= 0 && i < call->n_reloaded; i++)
		r = agent_use_add(in_use, *ret_agent, &call->reloaded[i].identity,
				  call->reloaded[i].role, call->reloaded[i].name);
	for (uint32_t i = 0; r >= 0 && i < batch->n_executables; i++) {
		const struct batch_executable *executable = &batch->executables[i];

		if (executable->id.kind != EXECUTABLE_ID_NONE)
			r = agent_use_add(in_use, *ret_agent, &executable->id, executable->role,
					  executable->name);
	}
	return MIN(r, 0);
}

/* The caller holds the lock. */
static int find_wanted(struct ingest_call *call)
{
	const struct batch *batch = &call->batch;
	struct agent_in_use *agent;
	size_t n_checks;
	int r;

	r = record_uses(call, &agent);
	for (uint32_t i = 0; r == 0 && i < batch->n_executables; i++)
		r = offer(call, &batch->executables[i].id, batch->executables[i].role,
			  batch->executables[i].name);
	if (r < 0)
		return r;
	n_checks = MIN((size_t)CHECKED_PER_BATCH, agent_use_count(agent));
	for (size_t i = 0; r == 0 && i < n_checks; i++) {
		const struct executable_in_use *next = agent_use_next(call->ingest->in_use, agent);

		r = offer(call, &next->id, next->role, next->name);
	}
	return r;
}

/*
 * Adds the executables that the server wants from this agent to the answer. An error is ignored,
 * because the batch is stored already, and the next batch tries again.
 */
static void add_wanted(struct ingest_call *call)
{
	struct ingest *ingest = call->ingest;
	int r = read_uses(call);

	(void)pthread_mutex_lock(&ingest->lock);
	/* If the agent was evicted since, its next batch reads its executables again. */
	if (r > 0 || (r == 0 && agent_use_is_known(ingest->in_use, call->tenant, &call->batch)))
		(void)find_wanted(call);
	(void)pthread_mutex_unlock(&ingest->lock);
	call->answer.wanted = call->wanted_list;
}

static void add_missing(struct ingest_call *call)
{
	struct store_missing *missing = &call->missing;

	call->answer.unknown_stacks = missing->stacks;
	call->answer.n_unknown_stacks = missing->n_stacks;
	call->answer.unknown_series = missing->series;
	call->answer.n_unknown_series = missing->n_series;
	call->answer.unknown_processes = missing->processes;
	call->answer.n_unknown_processes = missing->n_processes;
	call->answer.unknown_executables = missing->executables;
	call->answer.n_unknown_executables = missing->n_executables;
	call->answer.unknown_code_objects = missing->code_objects;
	call->answer.n_unknown_code_objects = missing->n_code_objects;
	(void)snprintf(call->result->message, INGEST_MESSAGE_SIZE,
		       "unknown numbers: %zu stacks, %zu series, %zu processes, %zu executables, "
		       "%zu code objects",
		       missing->n_stacks, missing->n_series, missing->n_processes,
		       missing->n_executables, missing->n_code_objects);
}

static int refuse_old(struct ingest_call *call)
{
	uint64_t now = clock_wall_ns(call->ingest->clock);

	call->result->too_old = true;
	(void)snprintf(call->result->message, INGEST_MESSAGE_SIZE,
		       "the batch of host '%.100s' ended %" PRIu64
		       " s ago, which is beyond this server's retention",
		       call->batch.host.name, (now - call->batch.closed_wall_ns) / NSEC_PER_SEC);
	return -EBADMSG;
}

static int refuse_new_stacks(struct ingest_call *call)
{
	(void)snprintf(call->result->message, INGEST_MESSAGE_SIZE,
		       "the agent of host '%.100s' has defined so many new stacks within an hour "
		       "that the server stores no further ones at the moment: its batches wait",
		       call->batch.host.name);
	return -EDQUOT;
}

static void count_unknown(struct ingest_call *call)
{
	const struct batch *batch = &call->batch;

	call->result->n_unknown_frames = batch->n_unknown_frames;
	call->result->n_unknown_fields = batch->n_unknown_fields;
	call->result->n_rows_with_context = batch->n_rows_with_context;
	for (uint32_t i = 0; i < batch->n_series; i++)
		call->result->n_unknown_types += batch->series[i].described != NULL;
}

static int store(struct ingest_call *call)
{
	const struct clock *clock = call->ingest->clock;
	uint64_t began_ns = clock_monotonic_ns(clock);
	int r;

	r = store_write(call->ingest->store, call->tenant, &call->batch, call->arena,
			&call->missing);
	call->answer.batch_interval_ms =
		batch_interval_ms(call->waited_ns + clock_monotonic_ns(clock) - began_ns);
	if (r == -EDQUOT)
		return refuse_new_stacks(call);
	if (r < 0)
		return fail(call, r, "cannot store the batch");
	if (r == STORE_TOO_OLD)
		return refuse_old(call);
	call->answer.epoch = call->batch.epoch;
	call->result->n_rows = call->batch.n_rows;
	if (r == STORE_NEEDS_NUMBERS) {
		add_missing(call);
		return 0;
	}
	call->answer.acknowledged_sequence = call->batch.sequence;
	call->result->stored = r == STORE_STORED;
	if (call->result->stored)
		count_unknown(call);
	if (!call->is_imported)
		add_wanted(call);
	return 0;
}

static int append_answer(struct ingest_call *call, struct bytes *answer)
{
	size_t size = hearth__v1__batch_answer__get_packed_size(&call->answer);
	int r;

	if (size > MAX_ANSWER_BYTES)
		return fail(call, -EFBIG, "cannot answer");
	r = bytes_reserve(answer, size);
	if (r < 0)
		return fail(call, r, "cannot answer");
	answer->size += hearth__v1__batch_answer__pack(&call->answer, answer->data + answer->size);
	return 0;
}

int ingest_batch(struct ingest *ingest, const struct ingest_request *request, struct bytes *answer,
		 struct ingest_result *ret_result)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct ingest_call call = {
		.ingest = ingest,
		.tenant = request->tenant,
		.sender = sender_clock_parse(request->clock),
		.waited_ns = request->waited_ns,
		.is_imported = request->is_imported,
		.result = ret_result,
	};
	int r;

	*ret_result = (struct ingest_result){};
	hearth__v1__batch_answer__init(&call.answer);
	r = arena_new_in(BATCH_MAX_DECODED_BYTES, ingest->memory, &arena);
	if (r < 0)
		return fail(&call, r, "cannot decode the batch");
	call.arena = arena;
	r = decode(&call, request->body);
	if (r == 0)
		r = store(&call);
	if (r == 0)
		r = append_answer(&call, answer);
	return r;
}
