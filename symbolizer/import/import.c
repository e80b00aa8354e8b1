/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/import/import.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/import/import_private.h"
#include "symbolizer/import/pprof_profile.h"

/* Of a profile whose sender gives no host. */
#define UNKNOWN_HOST "imported"

/* Of a profile whose sender gives no service. */
#define UNKNOWN_SERVICE "unknown_service"

/* Labels that name the service and the host, the best first. */
static const char *const service_labels[] = { "service_name",
					      "service.name",
					      "process.executable.name",
					      "k8s.container.name",
					      "container.name",
					      "container.id",
					      NULL };
static const char *const host_labels[] = { "host.name",     "hostname", "host",
					   "k8s.node.name", "host.id",  "k8s.pod.name",
					   "pod",           "instance", NULL };
static const char *const pid_labels[] = { "process.pid", "pid", "process_pid", NULL };

void import_result_release(struct import_result *result)
{
	for (size_t i = 0; i < result->batches.count; i++)
		bytes_release(&result->batches.items[i]);
	vec_release(&result->batches);
}

static struct hash128 hash_of_text(const char *text)
{
	return hash128_of(text ? text : "", text ? strlen(text) : 0);
}

/* Of all by which two requests may differ. A retry has the same hash. */
static struct hash128 content_of(const struct import_request *request, struct bytes_view body)
{
	const struct {
		struct hash128 body, name, units;
		uint64_t from_ns, until_ns, sample_rate_hz;
	} content = {
		.body = hash128_of(body.data, body.size),
		.name = hash_of_text(request->name),
		.units = hash_of_text(request->units),
		.from_ns = request->from_ns,
		.until_ns = request->until_ns,
		.sample_rate_hz = request->sample_rate_hz,
	};

	static_assert(sizeof(content) == 72, "no padding is hashed");
	return hash128_of(&content, sizeof(content));
}

int import_call_begin(struct import_call *call, const struct import_request *request,
		      struct bytes_view body, struct import_result *result)
{
	*call = (struct import_call){ .request = request,
				      .result = result,
				      .content = content_of(request, body) };
	return arena_new_in(IMPORT_MAX_DECODED_BYTES, request->memory, &call->arena);
}

void import_call_release(struct import_call *call)
{
	call->profile = foreign_profile_free(call->profile);
	(void)arena_free(call->arena);
}

int import_begin_profile(struct import_call *call)
{
	int r = foreign_profile_new(call->arena, call->result->reason, &call->profile);

	if (r == 0 && call->result->batches.count >= IMPORT_MAX_PROFILES)
		r = foreign_too_much(call->profile, "the request has more than %d profiles",
				     IMPORT_MAX_PROFILES);
	return r;
}

/* The value of the first of these labels that is not empty. NULL: there is none. */
static const char *find_label(const struct foreign_profile *profile,
			      const struct foreign_label_vec *labels, const char *const *names)
{
	for (size_t i = 0; names[i]; i++)
		for (size_t k = 0; k < labels->count; k++)
			if (labels->items[k].value &&
			    strcmp(string_table_text(profile->texts, labels->items[k].name),
				   names[i]) == 0)
				return string_table_text(profile->texts, labels->items[k].value);
	return NULL;
}

struct import_sender import_sender_of(const struct foreign_profile *profile,
				      const struct foreign_label_vec *labels, const char *name)
{
	struct import_sender sender = {
		.service = find_label(profile, labels, service_labels),
		.host = find_label(profile, labels, host_labels),
	};

	if (!sender.service)
		sender.service = name && name[0] ? name : UNKNOWN_SERVICE;
	if (!sender.host)
		sender.host = UNKNOWN_HOST;
	return sender;
}

uint32_t import_pid_of(const struct foreign_profile *profile,
		       const struct foreign_label_vec *labels)
{
	const char *text = find_label(profile, labels, pid_labels);
	unsigned long pid = text ? strtoul(text, NULL, 10) : 0;

	return pid <= INT32_MAX ? (uint32_t)pid : 0;
}

/* Of each profile of the request another one. */
static struct hash128 content_of_profile(const struct import_call *call)
{
	const struct {
		struct hash128 request;
		uint64_t index;
	} content = { call->content, call->result->batches.count };

	return hash128_of(&content, sizeof(content));
}

static struct hash128 agent_of(const struct import_sender *sender)
{
	const struct {
		struct hash128 domain, service, host;
	} agent = { hash_of_text("profiles of other profilers"), hash_of_text(sender->service),
		    hash_of_text(sender->host) };

	return hash128_of(&agent, sizeof(agent));
}

int import_end_profile(struct import_call *call, const struct import_sender *sender)
{
	struct foreign_profile *profile = call->profile;
	const struct hash128 agent = agent_of(sender);
	struct bytes body = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES);
	int r;

	profile->host = sender->host;
	profile->program = call->request->program ? call->request->program : "";
	profile->content = content_of_profile(call);
	r = foreign_profile_encode(profile, &agent, &body);
	if (r == 0)
		r = vec_push(&call->result->batches, body);
	if (r < 0) {
		bytes_release(&body);
		return r;
	}
	if (call->result->until_ns == 0 || profile->from_ns < call->result->from_ns)
		call->result->from_ns = profile->from_ns;
	call->result->until_ns = MAX(call->result->until_ns, profile->until_ns);
	call->result->n_values += profile->n_values;
	call->result->n_labels_left_out += profile->n_labels_left_out;
	call->profile = foreign_profile_free(profile);
	return 0;
}

int import_add_label(struct foreign_profile *profile, struct foreign_label_vec *labels,
		     struct bytes_view name, struct bytes_view value)
{
	struct foreign_label label;
	int r = foreign_text(profile, (const char *)name.data, name.size, &label.name);

	if (r == 0)
		r = foreign_text(profile, (const char *)value.data, value.size, &label.value);
	return r < 0 ? r : vec_push(labels, label);
}

static struct bytes_view view_of(const char *begin, const char *end)
{
	while (begin < end && *begin == ' ')
		begin++;
	while (begin < end && end[-1] == ' ')
		end--;
	/* A value may be in quotes. */
	if (end - begin >= 2 && *begin == '"' && end[-1] == '"') {
		begin++;
		end--;
	}
	return (struct bytes_view){ (const uint8_t *)begin, (size_t)(end - begin) };
}

/* Parses "key=value,...". */
static int parse_labels(struct foreign_profile *profile, const char *text, const char *end,
			struct foreign_label_vec *labels)
{
	while (text < end) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		const char *next = comma ? comma : end;
		const char *equals = memchr(text, '=', (size_t)(next - text));
		int r = 0;

		if (!equals && view_of(text, next).size > 0)
			return foreign_bad(profile, "name: a label has no '='");
		if (equals)
			r = import_add_label(profile, labels, view_of(text, equals),
					     view_of(equals + 1, next));
		if (r < 0)
			return r;
		text = comma ? comma + 1 : end;
	}
	return 0;
}

int import_parse_name(struct import_call *call, const char *text, const char **ret_name,
		      struct foreign_label_vec *labels)
{
	const char *brace, *end;
	char *name;
	int r = 0;

	text = text ? text : "";
	brace = strchr(text, '{');
	end = brace ? brace : text + strlen(text);
	name = arena_copy_text(call->arena, text, (size_t)(end - text));
	if (!name)
		return foreign_no_room(call->profile);
	if (brace) {
		end = strrchr(brace, '}');
		if (!end || end[1] != '\0')
			return foreign_bad(call->profile, "name: '}' is missing at the end");
		r = parse_labels(call->profile, brace + 1, end, labels);
	}
	if (r == 0)
		r = foreign_sort_labels(call->profile, labels, MAX_LABELS_PER_PROCESS);
	*ret_name = name;
	return r;
}

static int import_one_pprof(struct import_call *call, struct bytes_view body,
			    struct foreign_label_vec *labels)
{
	struct import_sender sender;
	const char *name;
	int r = import_parse_name(call, call->request->name, &name, labels);

	if (r < 0)
		return r;
	sender = import_sender_of(call->profile, labels, name);
	r = pprof_profile_read(call->profile,
			       &(struct foreign_request){
				       .service = sender.service,
				       .from_ns = call->request->from_ns,
				       .until_ns = call->request->until_ns,
				       .now_ns = call->request->now_ns,
				       .labels = labels,
				       .pid = import_pid_of(call->profile, labels),
			       },
			       body);
	return r < 0 ? r : import_end_profile(call, &sender);
}

int import_pprof(const struct import_request *request, struct bytes_view body,
		 struct import_result *result)
{
	struct foreign_label_vec labels = {};
	struct import_call call;
	int r = import_call_begin(&call, request, body, result);

	if (r == 0)
		r = import_begin_profile(&call);
	if (r == 0)
		r = import_one_pprof(&call, body, &labels);
	vec_release(&labels);
	import_call_release(&call);
	return r;
}
