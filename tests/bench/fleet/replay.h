/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Turns a capture of one host into batches of many hosts. A host sends the capture again and again;
 * each time is a lap. All laps are one epoch of its agent, so that definitions of the first lap
 * are not sent again. Pure functions: time is a parameter.
 *
 * These fields differ between hosts: the agent's ID, name, machine ID, boot ID and address of the
 * host, its clocks, all pids, tids and start times, and the identities of some executables, so that
 * stacks through them differ too. Between laps of a host, times differ, and the pids and start
 * times of processes that started during the capture: these, and their series, are defined again in
 * each lap, under the same numbers. All other content is that of the capture, so the sums of a
 * batch are unchanged. A real agent meets some new stacks in each minute, a replayed one does not.
 */

#include "tests/bench/fleet/capture.h"

struct replay_host {
	uint32_t index;
	struct hash128 agent_id;
	char name[32], boot_id[40], machine_id[40], ip[16];
	uint32_t pid_shift;
	uint64_t clock_shift_ns; /* added to the capture's monotonic times; a multiple of SLOT_NS */
	uint64_t wall_offset_ns; /* wall clock - monotonic clock */
	uint64_t first_epoch;
	/* The share of executables of user code that only this host has. */
	unsigned int own_executables_pct;
};

/* The first batch of @host opens at @opened_wall_ns by the clock of the host. */
void replay_host_init(struct replay_host *host, const struct capture *capture, uint32_t index,
		      uint64_t opened_wall_ns);

/* Steps the wall clock of the host, so that the first batch opens at @opened_wall_ns. */
void replay_host_set_clock(struct replay_host *host, const struct capture *capture,
			   uint64_t opened_wall_ns);

/* Time from the start of a lap to the start of the next one, a multiple of SLOT_NS. */
uint64_t replay_lap_ns(const struct capture *capture);

struct replay {
	const struct capture *capture;
	const struct replay_host *host;
	uint64_t lap;
	bool keeps_definitions; /* of the message, also in a later lap: it is a supplement */
};

uint64_t replay_epoch(const struct replay *replay);

/* When batch @index closes, by the wall clock of the host. */
uint64_t replay_closed_wall_ns(const struct replay *replay, size_t index);

/*
 * Appends @message, a message of the capture or of replay_definitions(), changed for the host and
 * the lap, as one zstd frame to @out. Clears @scratch. Returns 0 or a negative errno.
 */
int replay_encode(const struct replay *replay, const Hearth__V1__Batch *message, uint64_t sequence,
		  struct arena *scratch, struct bytes *out);

/*
 * A message without rows that holds the last definitions in the first @n_batches batches: those
 * whose numbers @unknown lists, or all if it is NULL. An agent sends it when the server does not
 * know numbers. *ret_builder owns the message.
 */
struct batch_builder;
int replay_definitions(const struct capture *capture, size_t n_batches,
		       const Hearth__V1__BatchAnswer *unknown, struct batch_builder **ret_builder,
		       Hearth__V1__Batch **ret_message);
