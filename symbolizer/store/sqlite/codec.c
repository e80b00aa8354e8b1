/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoders bound a count by the remaining bytes, of which every item has at least one, so that a
 * damaged column cannot claim much memory.
 */

#include "symbolizer/store/sqlite/codec.h"

#include "symbolizer/store/host_codec.h"

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
	return labels_decode(&reader, arena, ret_labels, ret_count);
}

void codec_add_paths(struct bytes *out, const struct stored_path *paths, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		(void)bytes_append_varint(out, paths[i].executable);
		text_encode(paths[i].path, out);
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

int codec_read_host(struct bytes_view in, struct arena *arena, struct store_host *ret_host)
{
	struct batch_host host;
	int r = host_decode(in, arena, &host);

	if (r < 0)
		return r;
	/* The machine ID is stored for administrators. No query reads it. */
	ret_host->name = host.name;
	ret_host->boot_id = host.boot_id;
	ret_host->agent_version = host.agent_version;
	ret_host->kernel_release = host.kernel_release;
	ret_host->architecture = host.architecture;
	ret_host->n_cpus = host.n_cpus;
	ret_host->ips = host.ips;
	ret_host->n_ips = host.n_ips;
	ret_host->labels = host.labels;
	ret_host->n_labels = host.n_labels;
	return 0;
}
