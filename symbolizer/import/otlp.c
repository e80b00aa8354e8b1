/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of OTLP. Profiles with one host and one time become one batch: a profiler of a whole
 * host sends a profile for each process. A profile with a wrong index or value is rejected, and the
 * others are stored.
 */
#include <stdio.h>
#include <string.h>

#include "symbolizer/import/foreign_unpack.h"
#include "symbolizer/import/import.h"
#include "symbolizer/import/import_private.h"
#include "symbolizer/import/otlp_profile.h"

/* The sender of all batches of a host, whatever services they have. */
#define SENDER "OpenTelemetry"

struct otlp {
	struct import_call *call;
	struct otlp_request request;
	struct otlp_reader reader;
	/* Of call->profile. */
	bool has_range;
	struct otlp_range range;
	const char *host; /* NULL: it has no samples yet */
	/* Of the first profile that was rejected. */
	char reason[FOREIGN_REASON_SIZE];
};

/* Ends the open profile, and begins another one. */
static int next_profile(struct otlp *otlp)
{
	struct import_call *call = otlp->call;
	const struct import_sender sender = { .service = SENDER, .host = otlp->host };
	int r = 0;

	if (otlp->host && call->profile->rows.count > 0)
		r = import_end_profile(call, &sender);
	call->profile = foreign_profile_free(call->profile);
	otlp->has_range = false;
	otlp->host = NULL;
	return r < 0 ? r : import_begin_profile(call);
}

static int begin_labels(struct otlp *otlp, const struct otlp_resource *resource,
			const struct otlp_profile *source)
{
	return otlp_labels_begin(&otlp->reader.labels, otlp->call->profile, source->tables,
				 resource);
}

/* Makes call->profile one with the time and the host of the source. */
static int open_profile(struct otlp *otlp, const struct otlp_resource *resource,
			const struct otlp_profile *source)
{
	const struct otlp_range range = otlp_profile_range(source, otlp->call->request->now_ns);
	struct import_sender sender;
	int r = 0;

	if (otlp->has_range &&
	    (otlp->range.from_ns != range.from_ns || otlp->range.until_ns != range.until_ns))
		r = next_profile(otlp);
	if (r == 0)
		r = begin_labels(otlp, resource, source);
	if (r < 0)
		return r;
	sender = otlp_sender_of(&otlp->reader.labels);
	if (otlp->host && strcmp(otlp->host, sender.host) != 0) {
		r = next_profile(otlp);
		if (r == 0)
			r = begin_labels(otlp, resource, source);
		sender = otlp_sender_of(&otlp->reader.labels);
	}
	if (r == 0 && !otlp->has_range)
		r = foreign_set_range(otlp->call->profile, range.from_ns, range.until_ns,
				      otlp->request.n_samples);
	if (r < 0)
		return r;
	otlp->has_range = true;
	otlp->range = range;
	otlp->host = sender.host;
	return 0;
}

static int read_profile(struct otlp *otlp, const struct otlp_resource *resource,
			const struct otlp_profile *source)
{
	struct otlp_reader *reader = &otlp->reader;
	struct foreign_profile *profile;
	size_t n_rows, n_values, n_left_out;
	int r = open_profile(otlp, resource, source);

	if (r < 0)
		return r;
	profile = otlp->call->profile;
	n_rows = profile->rows.count;
	n_values = profile->n_values;
	n_left_out = profile->n_labels_left_out;
	reader->profile = profile;
	reader->source = source;
	r = otlp_frames_begin(&reader->frames, profile, source->tables);
	if (r == 0)
		r = otlp_profile_read(reader);
	if (r == -EBADMSG) {
		profile->rows.count = n_rows;
		profile->n_values = n_values;
		profile->n_labels_left_out = n_left_out;
	}
	return r;
}

static int read_resource(struct otlp *otlp, size_t index)
{
	const struct otlp_resource *resource = &otlp->request.resources[index];
	struct import_result *result = otlp->call->result;
	int r = 0;

	for (size_t i = 0; i < resource->n_profiles && r == 0; i++) {
		r = read_profile(otlp, resource, &resource->profiles[i]);
		if (r != -EBADMSG)
			continue;
		if (result->n_rejected++ == 0)
			(void)snprintf(otlp->reason, sizeof(otlp->reason),
				       "resource_profiles[%zu], profile %zu: %.180s", index, i,
				       result->reason);
		r = 0;
	}
	return r;
}

static int check_counts(struct otlp *otlp)
{
	if (otlp->request.n_profiles > IMPORT_MAX_OTLP_PROFILES)
		return foreign_too_much(otlp->call->profile,
					"the request has more than %u profiles",
					IMPORT_MAX_OTLP_PROFILES);
	if (otlp->request.n_samples > IMPORT_MAX_ROWS)
		return foreign_too_much(otlp->call->profile, "the request has more than %u samples",
					IMPORT_MAX_ROWS);
	return 0;
}

static int read_request(struct otlp *otlp, struct bytes_view body)
{
	scoped(bytes_release) struct bytes plain = BYTES_INIT(IMPORT_MAX_PLAIN_BYTES);
	struct import_result *result = otlp->call->result;
	int r = import_begin_profile(otlp->call);

	if (r == 0)
		r = foreign_expand(otlp->call->profile, body, &plain, &body);
	if (r == 0)
		r = otlp_request_read(otlp->call->profile, body, &otlp->request);
	if (r == 0)
		r = check_counts(otlp);
	for (size_t i = 0; i < otlp->request.n_resources && r == 0; i++)
		r = read_resource(otlp, i);
	if (r == 0)
		r = next_profile(otlp);
	if (r < 0 || result->n_rejected == 0)
		return r;
	memcpy(result->reason, otlp->reason, sizeof(result->reason));
	return result->n_rejected == otlp->request.n_profiles ? -EBADMSG : 0;
}

int import_otlp(const struct import_request *request, struct bytes_view body,
		struct import_result *result)
{
	struct import_call call;
	struct otlp otlp = { .call = &call };
	int r = import_call_begin(&call, request, body, result);

	if (r == 0)
		r = read_request(&otlp, body);
	otlp_reader_release(&otlp.reader);
	import_call_release(&call);
	return r;
}
