/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of Alloy and of Pyroscope's SDK for Go: each sample of a series is a whole profile of
 * pprof.
 */
#include <string.h>

#include "proto/push.pb-c.h"
#include "symbolizer/import/foreign_unpack.h"
#include "symbolizer/import/import.h"
#include "symbolizer/import/import_private.h"
#include "symbolizer/import/pprof_profile.h"

static struct bytes_view view_of(const char *text)
{
	return (struct bytes_view){ (const uint8_t *)text, strlen(text) };
}

/* *ret_name: the label "__name__", or NULL. Other labels with "__" are those of the transport. */
static int read_labels(struct foreign_profile *profile, const Push__PushSeries *series,
		       struct foreign_label_vec *labels, const char **ret_name)
{
	int r = 0;

	*ret_name = NULL;
	vec_clear(labels);
	for (size_t i = 0; i < series->n_labels && r == 0; i++) {
		const Push__PushLabel *label = series->labels[i];

		if (strcmp(label->name, "__name__") == 0)
			*ret_name = label->value;
		else if (strncmp(label->name, "__", 2) != 0)
			r = import_add_label(profile, labels, view_of(label->name),
					     view_of(label->value));
	}
	return r < 0 ? r : foreign_sort_labels(profile, labels, MAX_LABELS_PER_PROCESS);
}

static int read_sample(struct import_call *call, const Push__PushSeries *series, size_t index,
		       struct foreign_label_vec *labels)
{
	const ProtobufCBinaryData *raw = &series->samples[index]->raw_profile;
	struct foreign_request request = { .now_ns = call->request->now_ns, .labels = labels };
	struct import_sender sender;
	int r = import_begin_profile(call);

	if (r == 0 && raw->len == 0)
		r = foreign_bad(call->profile, "series.samples[%zu].rawProfile is missing", index);
	if (r == 0)
		r = read_labels(call->profile, series, labels, &request.profile_name);
	if (r < 0)
		return r;
	sender = import_sender_of(call->profile, labels, NULL);
	request.service = sender.service;
	request.pid = import_pid_of(call->profile, labels);
	r = pprof_profile_read(call->profile, &request, (struct bytes_view){ raw->data, raw->len });
	return r < 0 ? r : import_end_profile(call, &sender);
}

static int read_request(struct import_call *call, struct bytes_view body,
			struct foreign_label_vec *labels)
{
	const Push__PushRequest *message;
	int r = import_begin_profile(call);

	if (r == 0)
		r = foreign_unpack(call->profile, &push__push_request__descriptor, body,
				   "push.v1.PushRequest", &message);
	call->profile = foreign_profile_free(call->profile);
	for (size_t i = 0; r == 0 && i < message->n_series; i++)
		for (size_t k = 0; r == 0 && k < message->series[i]->n_samples; k++)
			r = read_sample(call, message->series[i], k, labels);
	return r;
}

int import_push(const struct import_request *request, struct bytes_view body,
		struct import_result *result)
{
	struct foreign_label_vec labels = {};
	struct import_call call;
	int r = import_call_begin(&call, request, body, result);

	if (r == 0)
		r = read_request(&call, body, &labels);
	vec_release(&labels);
	import_call_release(&call);
	return r;
}
