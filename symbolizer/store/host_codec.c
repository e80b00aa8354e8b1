/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A count is bounded by the remaining bytes, of which each item has at least one, so that damaged
 * bytes cannot claim much memory.
 */

#include "symbolizer/store/host_codec.h"

void text_encode(const char *text, struct bytes *out)
{
	size_t length = strlen(text);

	(void)bytes_append_varint(out, length);
	(void)bytes_append(out, text, length);
}

static const char *read_text(struct bytes_reader *in, struct arena *arena)
{
	uint64_t length = bytes_read_varint(in);
	const char *text;

	if (in->error || length > (uint64_t)(in->end - in->next)) {
		in->error = -EBADMSG;
		return "";
	}
	text = arena_copy_text(arena, (const char *)in->next, (size_t)length);
	in->next += length;
	if (text)
		return text;
	in->error = -ENOMEM;
	return "";
}

static uint32_t read_count(struct bytes_reader *in)
{
	uint64_t count = bytes_read_varint(in);

	if (in->error || count > (uint64_t)(in->end - in->next)) {
		in->error = -EBADMSG;
		return 0;
	}
	return (uint32_t)count;
}

void labels_encode(const struct label *labels, uint32_t count, struct bytes *out)
{
	(void)bytes_append_varint(out, count);
	for (uint32_t i = 0; i < count; i++) {
		text_encode(labels[i].name, out);
		text_encode(labels[i].value, out);
	}
}

int labels_decode(struct bytes_reader *in, struct arena *arena, struct label **ret_labels,
		  uint32_t *ret_count)
{
	uint32_t count = read_count(in);
	struct label *labels = arena_alloc_array(arena, count, sizeof(*labels));

	if (!labels)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		labels[i].name = read_text(in, arena);
		labels[i].value = read_text(in, arena);
	}
	if (in->error)
		return in->error;
	*ret_labels = labels;
	*ret_count = count;
	return 0;
}

void host_encode(const struct batch_host *host, struct bytes *out)
{
	text_encode(host->name, out);
	text_encode(host->machine_id, out);
	text_encode(host->boot_id, out);
	text_encode(host->agent_version, out);
	text_encode(host->kernel_release, out);
	text_encode(host->architecture, out);
	(void)bytes_append_varint(out, host->n_cpus);
	(void)bytes_append_varint(out, host->n_ips);
	for (uint32_t i = 0; i < host->n_ips; i++)
		text_encode(host->ips[i], out);
	labels_encode(host->labels, host->n_labels, out);
}

int host_decode(struct bytes_view in, struct arena *arena, struct batch_host *ret_host)
{
	struct bytes_reader reader = bytes_reader_of(in);
	struct batch_host host = {};
	int r;

	host.name = read_text(&reader, arena);
	host.machine_id = read_text(&reader, arena);
	host.boot_id = read_text(&reader, arena);
	host.agent_version = read_text(&reader, arena);
	host.kernel_release = read_text(&reader, arena);
	host.architecture = read_text(&reader, arena);
	host.n_cpus = (uint32_t)bytes_read_varint(&reader);
	host.n_ips = read_count(&reader);
	host.ips = arena_alloc_array(arena, host.n_ips, sizeof(*host.ips));
	if (!host.ips)
		return -ENOMEM;
	for (uint32_t i = 0; i < host.n_ips; i++)
		host.ips[i] = read_text(&reader, arena);
	r = labels_decode(&reader, arena, &host.labels, &host.n_labels);
	if (r < 0)
		return r;
	*ret_host = host;
	return 0;
}
