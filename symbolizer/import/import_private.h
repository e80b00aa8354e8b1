/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by the functions of import.h. */

#include "symbolizer/import/import.h"

/* A request while it is decoded. */
struct import_call {
	const struct import_request *request;
	struct import_result *result;
	struct arena *arena;
	struct foreign_profile *profile; /* the one that is filled; NULL: none */
	struct hash128 content;          /* of the request */
};

/* Releases the call with import_call_release(), also after an error. */
int import_call_begin(struct import_call *call, const struct import_request *request,
		      struct bytes_view body, struct import_result *result);
void import_call_release(struct import_call *call);

/* Makes call->profile. -EFBIG: the request has too many. */
int import_begin_profile(struct import_call *call);

/* What identifies the sender of a profile. */
struct import_sender {
	const char *service, *host;
};

/* Finds the sender in the labels: service (else @name), and host. */
struct import_sender import_sender_of(const struct foreign_profile *profile,
				      const struct foreign_label_vec *labels, const char *name);

/* The process ID of the labels, 0: unknown. */
uint32_t import_pid_of(const struct foreign_profile *profile,
		       const struct foreign_label_vec *labels);

/* Encodes call->profile as a batch of the result, unless it is empty, and frees it. */
int import_end_profile(struct import_call *call, const struct import_sender *sender);

/* Adds a label. */
int import_add_label(struct foreign_profile *profile, struct foreign_label_vec *labels,
		     struct bytes_view name, struct bytes_view value);

/*
 * Splits "name{key=value,...}": *ret_name is in the arena. Labels are sorted by
 * foreign_sort_labels().
 */
int import_parse_name(struct import_call *call, const char *text, const char **ret_name,
		      struct foreign_label_vec *labels);
