/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Builds batches like an agent's, for tests of the receiving side. Definitions and rows are added
 * in any order; batch_builder_finish() sorts them and encodes the columns by the rules of
 * proto/batch.proto.
 *
 *   struct batch_builder *builder =
 *           batch_builder_new(1, epoch, sequence, opened_wall_ns, closed_wall_ns);
 *   batch_builder_executable(builder, 1, &id, "libc.so.6", ROLE_USER);
 *   batch_builder_process(builder, 1, 4711, 1000, "nginx", 1);
 *   batch_builder_series(builder, 1, 1, 4711, "nginx", EVENT_ON_CPU, 10 * NSEC_PER_MSEC);
 *   batch_builder_stack(builder, 1, STACK_CUT_NONE, frames, n_frames);
 *   batch_builder_row(builder, 1, 1, wall_ns, 1);
 *   batch_builder_finish(builder, &bytes);           -- appends the zstd frame; frees the builder
 *
 * If memory is exhausted, the test program ends. The monotonic clock of the host was zero at
 * BUILDER_BOOT_WALL_NS.
 */

#include "proto/batch.pb-c.h"
#include "symbolizer/store/batch.h"

/* 2020-01-01 00:00 UTC */
#define BUILDER_BOOT_WALL_NS (UINT64_C(1577836800) * NSEC_PER_SEC)

#define BUILDER_BOOT_ID "00000000-0000-4000-8000-000000000000"

struct batch_builder;

/* Each of the 16 bytes of the agent's ID is @agent. */
struct batch_builder *batch_builder_new(uint8_t agent, uint64_t epoch, uint64_t sequence,
					uint64_t opened_wall_ns, uint64_t closed_wall_ns);
struct batch_builder *batch_builder_free(struct batch_builder *builder);

/* The default is format 1. Call it before the first series is added. */
void batch_builder_use_format_2(struct batch_builder *builder);

/* The default is "host-<agent>". */
void batch_builder_host(struct batch_builder *builder, const char *name, const char *agent_version);

/* @id NULL: none. */
void batch_builder_executable(struct batch_builder *builder, uint32_t number,
			      const struct executable_id *id, const char *name,
			      enum executable_role role);
/* Adds a segment to the executable added last. */
void batch_builder_segment(struct batch_builder *builder, uint64_t file_offset, uint64_t vaddr,
			   uint64_t file_size);

void batch_builder_process(struct batch_builder *builder, uint32_t number, uint32_t pid,
			   uint64_t start_time_ns, const char *name, uint32_t main_executable);
/* Sets the other scalar fields of the process added last to those of @process. */
void batch_builder_process_details(struct batch_builder *builder,
				   const struct batch_process *process);
/* Adds a label or a path to the process added last. */
void batch_builder_path(struct batch_builder *builder, uint32_t executable, const char *path);
void batch_builder_label(struct batch_builder *builder, const char *name, const char *value);

void batch_builder_series(struct batch_builder *builder, uint32_t number, uint32_t process,
			  uint32_t tid, const char *thread_name, enum event_type type,
			  uint64_t period_ns);
/* Sets the CPU of the series added last; -1, the default: CPUs are not distinguished. */
void batch_builder_cpu(struct batch_builder *builder, int cpu);

/* Format 2: adds a series of any event type. */
void batch_builder_described_series(struct batch_builder *builder, uint32_t number,
				    uint32_t process, uint32_t tid,
				    const struct batch_event_type *type);
/* Format 2: adds a label to the series added last. */
void batch_builder_series_label(struct batch_builder *builder, const char *name, const char *value);

/* Format 2. The hash of @object is not used. */
void batch_builder_code_object(struct batch_builder *builder,
			       const struct batch_code_object *object);

/* @frames are leaf first; only the wire format has them root first. */
void batch_builder_stack(struct batch_builder *builder, uint32_t number, enum stack_cut cut,
			 const struct batch_frame *frames, uint32_t n_frames);

void batch_builder_row(struct batch_builder *builder, uint32_t series, uint32_t stack,
		       uint64_t wall_ns, uint64_t value);

/* Returns the key of the name. */
uint64_t batch_builder_named_frame(struct batch_builder *builder, const char *name);
void batch_builder_counter(struct batch_builder *builder, const char *name, uint64_t value);

/* The message so far, valid until the next call. Tests may change fields before packing. */
Hearth__V1__Batch *batch_builder_message(struct batch_builder *builder);

/* Appends the packed @message, or its zstd frame. */
void batch_pack_plain(const Hearth__V1__Batch *message, struct bytes *out);
void batch_pack(const Hearth__V1__Batch *message, struct bytes *out);

/* Packs and compresses the message, and frees the builder. */
void batch_builder_finish(struct batch_builder *builder, struct bytes *out);

/* A GNU build-ID of 20 bytes that are @seed. */
struct executable_id test_build_id(uint8_t seed);

DEFINE_SCOPED(struct batch_builder *, batch_builder_free);
