/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoders bound a count by the remaining bytes, of which every item has at least one, so that a
 * damaged column cannot claim much memory.
 */

#include "symbolizer/store/sqlite/codec.h"

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
	text = arena_copy_text(arena, (const char *)in->next, length);
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

void codec_add_labels(struct bytes *out, const struct label *labels, uint32_t count)
{
	(void)bytes_append_varint(out, count);
	for (uint32_t i = 0; i < count; i++) {
		add_text(out, labels[i].name);
		add_text(out, labels[i].value);
	}
}

static int read_labels(struct bytes_reader *in, struct arena *arena, struct label **ret_labels,
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

int codec_read_labels(struct bytes_view in, struct arena *arena, struct label **ret_labels,
		      uint32_t *ret_count)
{
	struct bytes_reader reader = bytes_reader_of(in);

	/* A process without labels has no text_set. */
	if (in.size == 0) {
		*ret_labels = NULL;
		*ret_count = 0;
		return 0;
	}
	return read_labels(&reader, arena, ret_labels, ret_count);
}

void codec_add_paths(struct bytes *out, const struct stored_path *paths, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		(void)bytes_append_varint(out, paths[i].executable);
		add_text(out, paths[i].path);
	}
}

int codec_find_path(struct bytes_view in, uint32_t executable, struct arena *arena,
		    const char **ret_path)
{
	struct bytes_reader reader = bytes_reader_of(in);

	while (reader.next < reader.end) {
		uint64_t id = bytes_read_varint(&reader);
		uint64_t length = bytes_read_varint(&reader);

		if (reader.error || length > (uint64_t)(reader.end - reader.next))
			return -EBADMSG;
		if (id == executable) {
			const char *path =
				arena_copy_text(arena, (const char *)reader.next, length);

			if (!path)
				return -ENOMEM;
			*ret_path = path;
			return 1;
		}
		reader.next += length;
	}
	return 0;
}

void codec_add_segments(struct bytes *out, const struct load_segment *segments, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		(void)bytes_append_varint(out, segments[i].file_offset);
		(void)bytes_append_varint(out, segments[i].vaddr);
		(void)bytes_append_varint(out, segments[i].file_size);
	}
}

int codec_read_segments(struct bytes_view in, struct arena *arena,
			const struct load_segment **ret_segments, uint32_t *ret_count)
{
	struct bytes_reader reader = bytes_reader_of(in);
	struct load_segment *segments =
		arena_alloc_array(arena, MAX_LOAD_SEGMENTS, sizeof(*segments));
	uint32_t count = 0;

	if (!segments)
		return -ENOMEM;
	while (reader.next < reader.end) {
		if (count == MAX_LOAD_SEGMENTS)
			return -EBADMSG;
		segments[count].file_offset = bytes_read_varint(&reader);
		segments[count].vaddr = bytes_read_varint(&reader);
		segments[count].file_size = bytes_read_varint(&reader);
		segments[count].memory_size = segments[count].file_size;
		count++;
	}
	if (reader.error)
		return reader.error;
	*ret_segments = segments;
	*ret_count = count;
	return 0;
}

/* Returns 1 with a counter, 0 at the end. */
static int next_counter(struct bytes_reader *in, struct bytes_view *ret_name, uint64_t *ret_value)
{
	uint64_t length;

	if (in->next >= in->end)
		return 0;
	length = bytes_read_varint(in);
	if (in->error || length > (uint64_t)(in->end - in->next))
		return -EBADMSG;
	*ret_name = (struct bytes_view){ .data = in->next, .size = length };
	in->next += length;
	*ret_value = bytes_read_varint(in);
	return in->error ? -EBADMSG : 1;
}

int codec_walk_counters(struct bytes_view in, codec_counter_function function, void *arg)
{
	struct bytes_reader checked = bytes_reader_of(in);
	struct bytes_reader reader = bytes_reader_of(in);
	struct bytes_view name;
	uint64_t value;
	int r;

	do
		r = next_counter(&checked, &name, &value);
	while (r > 0);
	while (r == 0 && next_counter(&reader, &name, &value) > 0)
		r = function(arg, name, value);
	return MIN(r, 0);
}

void codec_add_host(struct bytes *out, const struct batch_host *host)
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
	codec_add_labels(out, host->labels, host->n_labels);
}

int codec_read_host(struct bytes_view in, struct arena *arena, struct store_host *ret_host)
{
	struct bytes_reader reader = bytes_reader_of(in);

	ret_host->name = read_text(&reader, arena);
	/* The machine ID is stored for administrators. No query reads it. */
	(void)read_text(&reader, arena);
	ret_host->boot_id = read_text(&reader, arena);
	ret_host->agent_version = read_text(&reader, arena);
	ret_host->kernel_release = read_text(&reader, arena);
	ret_host->architecture = read_text(&reader, arena);
	ret_host->n_cpus = (uint32_t)bytes_read_varint(&reader);
	ret_host->n_ips = read_count(&reader);
	ret_host->ips = arena_alloc_array(arena, ret_host->n_ips, sizeof(*ret_host->ips));
	if (!ret_host->ips)
		return -ENOMEM;
	for (uint32_t i = 0; i < ret_host->n_ips; i++)
		ret_host->ips[i] = read_text(&reader, arena);
	return read_labels(&reader, arena, &ret_host->labels, &ret_host->n_labels);
}
