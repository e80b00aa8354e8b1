/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Adds profiles of OTLP to foreign profiles. Several profiles of a request may be added to one
 * foreign profile if their times are equal: OpenTelemetry's eBPF profiler sends one for each
 * process.
 *
 * Process. The attributes of the resource are labels of the process, by our names (labels[] in
 * otlp_labels.c). Attributes of a sample whose names begin with those of a resource's attributes
 * ("process.", "container.", ...) replace them: earlier profilers send them so. Other attributes
 * of a sample that are texts are labels of its series; "thread.name" and "thread.id" name the
 * thread. Numbers, and IDs of traces and spans, are not kept: nearly each sample has other ones.
 *
 * Values. A sample with timestamps has a value for each, or none, and then each timestamp counts 1.
 * Without timestamps the values are spread over the time of the profile. The type "samples" with a
 * period of CPU time is time on CPU, in counts of the period.
 */

#include "common/id_map.h"
#include "symbolizer/import/otlp_frames.h"
#include "symbolizer/import/otlp_labels.h"

struct otlp_reader {
	struct foreign_profile *profile; /* that is filled */
	const struct otlp_profile *source;
	struct otlp_frames frames;
	struct otlp_labels labels;
	struct otlp_frame_vec stack;
	struct id_map stacks;        /* stack_key + 1 -> number, of the source */
	struct otlp_column *columns; /* [source->n_types] */
};

void otlp_reader_release(struct otlp_reader *reader);

/* The time that a profile covers: its own, extended to all its timestamps. */
struct otlp_range {
	uint64_t from_ns, until_ns;
};

/* A profile without a time ends @now_ns. */
struct otlp_range otlp_profile_range(const struct otlp_profile *source, uint64_t now_ns);

/*
 * Adds all samples of reader->source to reader->profile, whose range contains that of the source.
 * otlp_frames_begin() and otlp_labels_begin() were called. 0, -EBADMSG, -EFBIG or -ENOMEM with a
 * reason; then some samples may have been added.
 */
int otlp_profile_read(struct otlp_reader *reader);
