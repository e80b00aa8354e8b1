/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only the parts of a message that change are copied. The columns of stacks and rows, which are
 * most of a message, are packed from the capture's memory.
 */

#include "tests/bench/fleet/replay.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/zstd_frame.h"
#include "tests/bench/fleet/replay_known.h"

/* The agent uses level 6, which compresses as well and takes twice the time. */
#define COMPRESSION_LEVEL 3

/* /proc/sys/kernel/pid_max of 64-bit hosts. Pids 0 and 1 are the same on every host. */
#define PID_MAX 4194304u

/* New processes of a lap get pids this far from those of the lap before. */
#define PIDS_PER_LAP 30011u

/* Hosts have booted at most this long before they are first heard of. */
#define MAX_UPTIME_SLOTS (UINT64_C(30) * 24 * 3600 * 100)

static uint64_t host_hash(uint32_t index, const char *purpose)
{
	struct {
		uint32_t index;
		char purpose[12];
	} key = { .index = index };

	(void)snprintf(key.purpose, sizeof(key.purpose), "%s", purpose);
	return hash64_of(&key, sizeof(key));
}

void replay_host_init(struct replay_host *host, const struct capture *capture, uint32_t index,
		      uint64_t opened_wall_ns)
{
	uint64_t shift_slots = host_hash(index, "uptime") % MAX_UPTIME_SLOTS;
	uint64_t boot = host_hash(index, "boot"), machine = host_hash(index, "machine");

	*host = (struct replay_host){ .index = index };
	(void)snprintf(host->name, sizeof(host->name), "host-%05u", index);
	(void)snprintf(host->boot_id, sizeof(host->boot_id), "%08x-%04x-4000-8000-%012" PRIx64,
		       index, (unsigned int)(boot >> 48), boot & UINT64_C(0xffffffffffff));
	(void)snprintf(host->machine_id, sizeof(host->machine_id), "%016" PRIx64 "%016" PRIx64,
		       machine, (uint64_t)index);
	(void)snprintf(host->ip, sizeof(host->ip), "10.%u.%u.%u", (index >> 16) & 255,
		       (index >> 8) & 255, index & 255);
	host->agent_id = hash128_of(host->machine_id, strlen(host->machine_id));
	host->pid_shift = (uint32_t)(host_hash(index, "pid") % PID_MAX);
	host->clock_shift_ns = shift_slots * SLOT_NS;
	host->first_epoch = opened_wall_ns;
	replay_host_set_clock(host, capture, opened_wall_ns);
}

void replay_host_set_clock(struct replay_host *host, const struct capture *capture,
			   uint64_t opened_wall_ns)
{
	host->wall_offset_ns = opened_wall_ns - capture->opened_ns - host->clock_shift_ns;
}

uint64_t replay_lap_ns(const struct capture *capture)
{
	uint64_t length_ns = capture->closed_ns - capture->opened_ns;

	return (length_ns + SLOT_NS - 1) / SLOT_NS * SLOT_NS;
}

static uint64_t shift_ns(const struct replay *replay)
{
	return replay->host->clock_shift_ns + replay->lap * replay_lap_ns(replay->capture);
}

uint64_t replay_epoch(const struct replay *replay)
{
	return replay->host->first_epoch;
}

uint64_t replay_closed_wall_ns(const struct replay *replay, size_t index)
{
	return replay->capture->batches[index].message->closed_monotonic_ns + shift_ns(replay) +
	       replay->host->wall_offset_ns;
}

/* A permutation of the pids from 2 up: equal ones stay equal, and different ones different. */
static uint32_t shift_pid(const struct replay *replay, uint32_t pid, bool is_new)
{
	uint64_t shift = replay->host->pid_shift + (is_new ? replay->lap * PIDS_PER_LAP : 0);

	if (pid < 2 || pid >= PID_MAX)
		return pid;
	return (uint32_t)((pid - 2 + shift) % (PID_MAX - 2)) + 2;
}

static bool is_new_process(const struct replay *replay, uint32_t number)
{
	return hash_table_find(replay->capture->new_processes, &number);
}

static Hearth__V1__Host *make_host(const struct replay *replay, const Hearth__V1__Host *from,
				   struct arena *scratch)
{
	const struct replay_host *host = replay->host;
	Hearth__V1__Host *copy = arena_copy(scratch, from, sizeof(*from));
	char **ips = arena_alloc_array(scratch, 1, sizeof(*ips));

	if (!copy || !ips)
		return NULL;
	ips[0] = (char *)host->ip;
	copy->name = (char *)host->name;
	copy->machine_id = (char *)host->machine_id;
	copy->boot_id = (char *)host->boot_id;
	copy->ip = ips;
	copy->n_ip = 1;
	return copy;
}

/*
 * Copies @count messages of @size bytes, to be changed. NULL: no memory. A repeated message field
 * is an array of pointers.
 */
static void *copy_messages(struct arena *scratch, const void *messages, size_t count, size_t size)
{
	void *const *from = messages;
	void **copies = arena_alloc_array(scratch, MAX(count, (size_t)1), sizeof(*copies));

	for (size_t i = 0; copies && i < count; i++) {
		copies[i] = arena_copy(scratch, from[i], size);
		if (!copies[i])
			return NULL;
	}
	return copies;
}

static int change_executables(const struct replay *replay, Hearth__V1__Batch *message,
			      struct arena *scratch)
{
	message->executables = copy_messages(scratch, message->executables, message->n_executables,
					     sizeof(**message->executables));
	if (!message->executables)
		return -ENOMEM;
	for (size_t i = 0; i < message->n_executables; i++) {
		Hearth__V1__Executable *executable = message->executables[i];
		uint64_t mark = host_hash(replay->host->index, "executable");
		uint8_t *id;

		if (executable->role != ROLE_USER || executable->id.len < sizeof(mark) ||
		    hash64_of(executable->id.data, executable->id.len) % 100 >=
			    replay->host->own_executables_pct)
			continue;
		id = arena_copy(scratch, executable->id.data, executable->id.len);
		if (!id)
			return -ENOMEM;
		for (size_t k = 0; k < sizeof(mark); k++)
			id[k] ^= (uint8_t)(mark >> (8 * k));
		executable->id.data = id;
	}
	return 0;
}

static int change_processes(const struct replay *replay, Hearth__V1__Batch *message,
			    struct arena *scratch)
{
	message->processes = copy_messages(scratch, message->processes, message->n_processes,
					   sizeof(**message->processes));
	if (!message->processes)
		return -ENOMEM;
	for (size_t i = 0; i < message->n_processes; i++) {
		Hearth__V1__Process *process = message->processes[i];
		bool is_new = is_new_process(replay, process->number);
		bool parent_is_new =
			hash_table_find(replay->capture->new_pids, &process->parent_pid);

		process->pid = shift_pid(replay, process->pid, is_new);
		process->parent_pid = shift_pid(replay, process->parent_pid, parent_is_new);
		process->start_time_ns += is_new ? shift_ns(replay) : replay->host->clock_shift_ns;
	}
	return 0;
}

static int change_series(const struct replay *replay, Hearth__V1__Batch *message,
			 struct arena *scratch)
{
	message->series = copy_messages(scratch, message->series, message->n_series,
					sizeof(**message->series));
	if (!message->series)
		return -ENOMEM;
	for (size_t i = 0; i < message->n_series; i++) {
		Hearth__V1__Series *series = message->series[i];

		series->tid =
			shift_pid(replay, series->tid, is_new_process(replay, series->process));
	}
	return 0;
}

static int change_message(const struct replay *replay, Hearth__V1__Batch *message,
			  struct arena *scratch)
{
	int r;

	message->agent_id.data = (uint8_t *)replay->host->agent_id.bytes;
	message->epoch = replay_epoch(replay);
	message->opened_monotonic_ns += shift_ns(replay);
	message->closed_monotonic_ns += shift_ns(replay);
	message->closed_wall_ns = message->closed_monotonic_ns + replay->host->wall_offset_ns;
	message->host = make_host(replay, message->host, scratch);
	if (!message->host)
		return -ENOMEM;
	if (message->rows) {
		message->rows = arena_copy(scratch, message->rows, sizeof(*message->rows));
		if (!message->rows)
			return -ENOMEM;
		message->rows->first_slot += shift_ns(replay) / SLOT_NS;
	}
	r = replay->lap > 0 && !replay->keeps_definitions
		    ? replay_drop_known(replay->capture, message, scratch)
		    : 0;
	if (r == 0)
		r = change_executables(replay, message, scratch);
	if (r == 0)
		r = change_processes(replay, message, scratch);
	if (r == 0)
		r = change_series(replay, message, scratch);
	return r;
}

int replay_encode(const struct replay *replay, const Hearth__V1__Batch *message, uint64_t sequence,
		  struct arena *scratch, struct bytes *out)
{
	Hearth__V1__Batch changed = *message;
	uint8_t *packed;
	size_t size;
	int r;

	arena_clear(scratch);
	changed.sequence = sequence;
	r = change_message(replay, &changed, scratch);
	if (r < 0)
		return r;
	size = hearth__v1__batch__get_packed_size(&changed);
	packed = arena_alloc(scratch, size);
	if (!packed)
		return -ENOMEM;
	(void)hearth__v1__batch__pack(&changed, packed);
	return zstd_compress((struct bytes_view){ .data = packed, .size = size }, COMPRESSION_LEVEL,
			     out);
}
