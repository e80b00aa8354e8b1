/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes frames of the locations of OTLP's tables.
 *
 * A location whose lines name functions becomes a frame for each line. The attribute
 * "profile.frame.type" of the location determines the kind. Other locations become frames of an
 * address in the executable of their mapping, which its attributes
 * "process.executable.build_id.gnu", ".go" or ".htlhash" identify.
 *
 * OTLP's mappings have addresses of a process, but those of OpenTelemetry's eBPF profiler have
 * addresses of the ELF file. Files are linked at low addresses, but 64-bit systems load libraries
 * and position-independent programs far above. So an address below OTLP_MAX_ELF_ADDRESS is an ELF
 * address (that of a position-dependent program is both). Another one is converted to its offset in
 * the file.
 *
 * Each function and location is converted once for each foreign profile, when a sample refers to
 * it. A request may have many profiles that share the tables, so conversions are bounded.
 */

#include "symbolizer/import/otlp_request.h"

/* 64 GiB */
#define OTLP_MAX_ELF_ADDRESS (UINT64_C(1) << 36)

VEC_DEFINE(otlp_frame_vec, struct foreign_frame);

struct otlp_frames {
	struct foreign_profile *profile; /* that gets the frames */
	const struct otlp_tables *tables;
	uint32_t stamp; /* of the profile and the tables. Items with another one are invalid */
	struct otlp_cached_code *codes;         /* [n_functions] */
	struct otlp_cached_location *locations; /* [n_locations] */
	struct otlp_frame_vec frames;           /* of all converted locations */
	size_t n_read;                          /* locations and lines of the request */
};

void otlp_frames_release(struct otlp_frames *frames);

/* Has to be called before the frames of another profile or of other tables are made. */
int otlp_frames_begin(struct otlp_frames *frames, struct foreign_profile *profile,
		      const struct otlp_tables *tables);

/*
 * Appends the frames of the locations, leaf first, until there are more than a stack may have.
 * -EBADMSG: an index is in no table; -EFBIG: the request has too many locations.
 */
int otlp_frames_append(struct otlp_frames *frames, const struct otlp_indices *locations,
		       struct otlp_frame_vec *stack);
