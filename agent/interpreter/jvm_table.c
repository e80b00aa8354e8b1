/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/jvm_table.h"

#include <string.h>

#include "agent/helper/protocol.h"
#include "bpf/abi/jvm.h"
#include "bpf/abi/mapping.h"
#include "common/hash_table.h"
#include "common/log.h"

/* One for each build of a JVM that was seen. */
#define MAX_LAYOUTS 64

#define TIMEOUT_NS (3 * NSEC_PER_SEC)

/* A JVM takes 0.1 s to start, on a busy host seconds. Each attempt waits twice as long. */
#define FIRST_RETRY_NS (20 * NSEC_PER_MSEC)
#define MAX_ATTEMPTS   12

enum jvm_state {
	JVM_WAITS,
	JVM_IS_READ,
	JVM_KNOWN,
	JVM_FAILED,
};

struct jvm {
	uint64_t start_time_ns;
	uint32_t n_execs;
	enum jvm_state state;
	bool is_published; /* the map has an entry of this process, perhaps of an earlier image */
	unsigned int n_attempts;
	uint64_t next_ns;
	uint64_t symbols[HOTSPOT_N_SYMBOLS];
	const struct hotspot_layout *layout; /* if known */
};

struct jvm_table {
	struct jvm_table_options options;
	struct hash_table *jvms; /* pid -> struct jvm */
	struct hotspot_layout *layouts[MAX_LAYOUTS];
	size_t n_layouts;
	size_t n_waiting;
	uint64_t now_ns;
	struct jvm_table_stats stats;
	struct helper_message message;
};

/* A request in progress. */
struct jvm_job {
	struct jvm_table *table;
	uint32_t pid;
	uint64_t start_time_ns;
	uint32_t n_execs;
};

int jvm_table_new(const struct jvm_table_options *options, struct jvm_table **ret_table)
{
	scoped(jvm_table_freep) struct jvm_table *table = calloc(1, sizeof(*table));
	int r;

	if (!table)
		return -ENOMEM;
	table->options = *options;
	r = hash_table_new(sizeof(uint32_t), sizeof(struct jvm), ABI_MAX_JVMS, &table->jvms);
	if (r < 0)
		return r;
	*ret_table = take_ptr(table);
	return 0;
}

struct jvm_table *jvm_table_free(struct jvm_table *table)
{
	if (!table)
		return NULL;
	for (size_t i = 0; i < table->n_layouts; i++)
		free(table->layouts[i]);
	(void)hash_table_free(table->jvms);
	free(table);
	return NULL;
}

void jvm_table_stats(const struct jvm_table *table, struct jvm_table_stats *ret_stats)
{
	*ret_stats = table->stats;
}

static void leave_state(struct jvm_table *table, struct jvm *jvm, enum jvm_state state)
{
	table->n_waiting -= jvm->state == JVM_WAITS;
	table->n_waiting += state == JVM_WAITS;
	jvm->state = state;
}

int jvm_table_note(struct jvm_table *table, const struct process *process,
		   const struct process_mapping *mapping)
{
	const uint32_t n_execs = process->exec_count / ABI_EXEC_STEP;
	bool is_published = false;
	struct jvm *jvm;
	void *value;
	int r = hash_table_insert(table->jvms, &process->pid, &value);

	if (r == -ENOSPC) {
		table->stats.failed++;
		return 0;
	}
	if (r < 0)
		return r;
	jvm = value;
	/* A process that was found in /proc has the number 0. */
	if (jvm->start_time_ns == process->start_time_ns && n_execs <= jvm->n_execs)
		return 0;
	if (r == 0) {
		is_published = jvm->is_published;
		leave_state(table, jvm, JVM_FAILED);
	}
	*jvm = (struct jvm){
		.start_time_ns = process->start_time_ns,
		.n_execs = n_execs,
		.state = JVM_WAITS,
		.is_published = is_published,
	};
	table->n_waiting++;
	for (size_t i = 0; i < HOTSPOT_N_SYMBOLS; i++)
		jvm->symbols[i] = mapping->bias + mapping->executable->interpreter.symbols[i];
	return 0;
}

void jvm_table_forget(struct jvm_table *table, uint32_t pid, uint64_t start_time_ns)
{
	struct jvm *jvm = hash_table_find(table->jvms, &pid);

	if (!jvm || jvm->start_time_ns != start_time_ns)
		return;
	if (jvm->is_published)
		(void)table->options.publish(table->options.arg, pid, NULL);
	leave_state(table, jvm, JVM_FAILED);
	(void)hash_table_remove(table->jvms, &pid);
}

const struct hotspot_layout *jvm_table_layout(const struct jvm_table *table,
					      const struct abi_sample *sample)
{
	const struct jvm *jvm = hash_table_find(table->jvms, &sample->pid);

	if (!jvm || jvm->state != JVM_KNOWN || jvm->n_execs != sample->exec_count / ABI_EXEC_STEP ||
	    jvm->start_time_ns / ABI_START_TIME_TICK_NS !=
		    sample->start_time_ns / ABI_START_TIME_TICK_NS)
		return NULL;
	return jvm->layout;
}

/* The layout with this content. NULL: there are too many, or memory is short. */
static const struct hotspot_layout *keep_layout(struct jvm_table *table,
						const struct hotspot_layout *layout)
{
	struct hotspot_layout *kept;

	for (size_t i = 0; i < table->n_layouts; i++)
		if (memcmp(table->layouts[i], layout, sizeof(*layout)) == 0)
			return table->layouts[i];
	kept = table->n_layouts < MAX_LAYOUTS ? malloc(sizeof(*kept)) : NULL;
	if (!kept)
		return NULL;
	*kept = *layout;
	table->layouts[table->n_layouts++] = kept;
	return kept;
}

static void fail(struct jvm_table *table, uint32_t pid, struct jvm *jvm, int error)
{
	leave_state(table, jvm, JVM_FAILED);
	if (error == -ESRCH) /* It has ended. */
		return;
	if (table->stats.failed++ == 0)
		log_warn_errno(error,
			       "cannot read the layout of the JVM in process %u, its stacks lack "
			       "the frames of Java methods, further cases are only counted: %m",
			       pid);
}

/* Lets the JVM wait for the next attempt, or gives up. */
static void try_again(struct jvm_table *table, uint32_t pid, struct jvm *jvm, int error)
{
	if (++jvm->n_attempts >= MAX_ATTEMPTS) {
		fail(table, pid, jvm, error);
		return;
	}
	jvm->next_ns = table->now_ns + (FIRST_RETRY_NS << jvm->n_attempts);
	leave_state(table, jvm, JVM_WAITS);
}

static void take_layout(struct jvm_table *table, uint32_t pid, struct jvm *jvm,
			struct reader_jvm *answer)
{
	int r = -ENOSPC;

	answer->jvm.start_time_10ms = jvm->start_time_ns / ABI_START_TIME_TICK_NS;
	answer->jvm.n_execs = jvm->n_execs;
	jvm->layout = keep_layout(table, &answer->layout);
	if (jvm->layout)
		r = table->options.publish(table->options.arg, pid, &answer->jvm);
	if (r < 0) {
		fail(table, pid, jvm, r);
		return;
	}
	jvm->is_published = true;
	leave_state(table, jvm, JVM_KNOWN);
	table->stats.read++;
}

static void on_read(void *arg, int error, struct helper_message *message)
{
	scoped_free struct jvm_job *job = arg;
	struct jvm_table *table = job->table;
	struct jvm *jvm = hash_table_find(table->jvms, &job->pid);
	struct reader_jvm answer;
	int r;

	if (!jvm || jvm->state != JVM_IS_READ || jvm->start_time_ns != job->start_time_ns ||
	    jvm->n_execs != job->n_execs)
		return;
	r = error < 0 ? error : reader_jvm_decode(message, &answer);
	if (r == 1)
		take_layout(table, job->pid, jvm, &answer);
	else if (r == -ENOTSUP || r == -ESRCH)
		fail(table, job->pid, jvm, r);
	else
		try_again(table, job->pid, jvm, r < 0 ? r : -EAGAIN);
}

static void send_request(struct jvm_table *table, uint32_t pid, struct jvm *jvm)
{
	struct reader_jvm_request body;
	struct jvm_job *job = calloc(1, sizeof(*job));
	const struct helper_job helper_job = {
		.kind = HELPER_TOUCHER,
		.timeout_ns = TIMEOUT_NS,
		.done = on_read,
		.forget = free,
		.arg = job,
	};

	if (!job)
		return;
	*job = (struct jvm_job){
		.table = table,
		.pid = pid,
		.start_time_ns = jvm->start_time_ns,
		.n_execs = jvm->n_execs,
	};
	memcpy(body.symbols, jvm->symbols, sizeof(body.symbols));
	reader_request_write(&table->message, pid, READER_JVM, &body, sizeof(body));
	if (helper_pool_submit(table->options.pool, &helper_job, &table->message) == 0) {
		leave_state(table, jvm, JVM_IS_READ);
		return;
	}
	free(job);
	try_again(table, pid, jvm, -EAGAIN);
}

void jvm_table_flush(struct jvm_table *table, uint64_t now_ns)
{
	const void *key;
	size_t cursor = 0;
	void *value;

	table->now_ns = now_ns;
	if (table->n_waiting == 0)
		return;
	while (hash_table_next(table->jvms, &cursor, &key, &value)) {
		struct jvm *jvm = value;

		if (jvm->state == JVM_WAITS && now_ns >= jvm->next_ns)
			send_request(table, *(const uint32_t *)key, jvm);
	}
}
