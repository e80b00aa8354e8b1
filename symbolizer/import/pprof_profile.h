/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads a profile of pprof (proto/profile.proto).
 *
 * A location with lines becomes a frame of named code for each line. Others become native frames,
 * by the build-ID of their mapping. An address within its mapping is one of the process, and the
 * frame has its offset in the file; another address is an ELF address.
 *
 * The labels of a sample that have a text become labels of its series; "thread" and "thread id" and
 * their variants name its thread. Other numbers, and IDs of traces and spans, are not kept: nearly
 * each sample has other ones.
 *
 * Checked: indices of strings, IDs of locations, functions and mappings, the number of values of a
 * sample, and that no value is negative.
 */

#include "symbolizer/import/foreign_profile.h"

/* What the request says about a profile. */
struct foreign_request {
	const char *service;
	const char *profile_name;   /* "__name__" of Pyroscope: "process_cpu", "mutex"; NULL */
	uint64_t from_ns, until_ns; /* wall clock; 0: the profile says it */
	uint64_t now_ns;            /* until: if neither says it */
	struct foreign_label_vec *labels; /* of the process, sorted by foreign_sort_labels() */
	uint32_t pid;                     /* 0: unknown */
};

/* @data may be compressed by gzip. Returns 0, -EBADMSG, -EFBIG or -ENOMEM. */
int pprof_profile_read(struct foreign_profile *profile, const struct foreign_request *request,
		       struct bytes_view data);
