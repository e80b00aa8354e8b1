/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A count is bounded by the remaining bytes, of which each item has at least one, so that damaged
 * bytes cannot claim much memory.
 */

#include "symbolizer/store/segment_db/host_codec.h"

static void add_text(struct bytes *out, const char *text)
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

void host_encode(const struct batch_host *host, struct bytes *out)
{
	add_text(out, host->name);
	add_text(out, host->machine_id);
	add_text(out, host->boot_id);
	add_text(out, host->agent_version);
	add_text(out, host->kernel_release);
	add_text(out, host->architecture);
	(void)bytes_append_varint(out, host->n_cpus);
	(void)bytes_append_varint(out, host->n_ips);
	for (uint32_t i = 0; i < host->n_ips; i++)
		add_text(out, host->ips[i]);
	(void)bytes_append_varint(out, host->n_labels);
	for (uint32_t i = 0; i < host->n_labels; i++) {
		add_text(out, host->labels[i].name);
		add_text(out, host->labels[i].value);
	}
}

int host_decode(struct bytes_view in, struct arena *arena, struct batch_host *ret_host)
{
	struct bytes_reader reader = bytes_reader_of(in);
	struct batch_host host = {};

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
	host.n_labels = read_count(&reader);
	host.labels = arena_alloc_array(arena, host.n_labels, sizeof(*host.labels));
	if (!host.labels)
		return -ENOMEM;
	for (uint32_t i = 0; i < host.n_labels; i++) {
		host.labels[i].name = read_text(&reader, arena);
		host.labels[i].value = read_text(&reader, arena);
	}
	if (reader.error)
		return reader.error;
	*ret_host = host;
	return 0;
}
