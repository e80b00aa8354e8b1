/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/cache/compile_inputs.h"

#include <string.h>

#include "common/file.h"

/*
 * .gnu_debugaltlink: a path ("/usr/lib/debug/.dwz/x86_64-linux-gnu/NAME.debug"), NUL, a build-ID.
 */
#define ALT_LINK_MAX_BYTES (4096 + 1 + EXECUTABLE_ID_MAX_BYTES)

static int find_kind(struct debuginfo_store *debuginfo, const struct executable_id *id,
		     enum debuginfo_kind kind, struct debuginfo_entry *ret_entry)
{
	const struct debuginfo_key key = { .id = *id, .kind = kind, .path = "" };

	return debuginfo_find_kind(debuginfo, &key, ret_entry);
}

static int open_kind(struct debuginfo_store *debuginfo, const struct executable_id *id,
		     enum debuginfo_kind kind, int *ret_fd, struct debuginfo_entry *ret_entry)
{
	const struct debuginfo_key key = { .id = *id, .kind = kind, .path = "" };

	return debuginfo_open_kind(debuginfo, &key, ret_fd, ret_entry);
}

bool input_hashes_equal(const struct input_hashes *a, const struct input_hashes *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static int find_alt(struct debuginfo_store *debuginfo, const struct executable_id *alt_id,
		    struct input_hashes *hashes)
{
	struct debuginfo_entry entry;
	int r;

	if (alt_id->kind == EXECUTABLE_ID_NONE)
		return 0;
	r = find_kind(debuginfo, alt_id, DEBUGINFO_KIND_DEBUGINFO, &entry);
	if (r > 0)
		hashes->alt = entry.hash;
	return MIN(r, 0);
}

static int find_split(struct debuginfo_store *debuginfo, const struct executable_id *id,
		      struct input_hashes *hashes)
{
	struct debuginfo_entry entry;
	int r = find_kind(debuginfo, id, DEBUGINFO_KIND_SPLIT, &entry);

	if (r > 0)
		hashes->split = entry.hash;
	return MIN(r, 0);
}

int input_hashes_find(struct debuginfo_store *debuginfo, const struct executable_id *id,
		      const struct executable_id *alt_id, struct input_hashes *ret_hashes)
{
	struct debuginfo_entry main, executable;
	struct input_hashes hashes = {};
	int r;

	r = debuginfo_find(debuginfo, id, &main);
	if (r == 0)
		r = find_kind(debuginfo, id, DEBUGINFO_KIND_EXECUTABLE, &main);
	if (r <= 0)
		return r;
	hashes.main = main.hash;
	if (!main.has_code) {
		r = find_kind(debuginfo, id, DEBUGINFO_KIND_EXECUTABLE, &executable);
		if (r > 0)
			hashes.executable = executable.hash;
	}
	if (r >= 0)
		r = find_alt(debuginfo, alt_id, &hashes);
	if (r >= 0)
		r = find_split(debuginfo, id, &hashes);
	if (r < 0)
		return r;
	*ret_hashes = hashes;
	return 1;
}

static int open_main(struct debuginfo_store *debuginfo, const struct executable_id *id,
		     struct compile_inputs *inputs)
{
	struct debuginfo_entry main, executable;
	int r;

	r = debuginfo_open_file(debuginfo, id, &inputs->fds.main_fd, &main);
	if (r == 0)
		r = open_kind(debuginfo, id, DEBUGINFO_KIND_EXECUTABLE, &inputs->fds.main_fd,
			      &main);
	if (r <= 0)
		return r;
	inputs->hashes.main = main.hash;
	inputs->size_bytes = main.size_bytes;
	if (main.has_code)
		return 1;
	r = open_kind(debuginfo, id, DEBUGINFO_KIND_EXECUTABLE, &inputs->fds.executable_fd,
		      &executable);
	if (r > 0) {
		inputs->hashes.executable = executable.hash;
		inputs->size_bytes += executable.size_bytes;
	}
	return r < 0 ? r : 1;
}

/* Reads the build-ID in .gnu_debugaltlink, if there is one and it is well-formed. */
static int read_alt_link(struct debuginfo_store *debuginfo, const struct executable_id *id,
			 struct executable_id *ret_alt_id)
{
	uint8_t link[ALT_LINK_MAX_BYTES];
	struct debuginfo_range range;
	const uint8_t *end;
	scoped_fd int fd = -1;
	int r;

	r = debuginfo_open_section(debuginfo, id, ".gnu_debugaltlink", &fd, &range);
	if (r <= 0 || range.size > sizeof(link))
		return MIN(r, 0);
	r = pread_all(fd, link, range.size, range.offset);
	if (r < 0)
		return r;
	end = memchr(link, '\0', range.size);
	if (end)
		(void)executable_id_set(ret_alt_id, EXECUTABLE_ID_GNU, end + 1,
					(size_t)(link + range.size - end - 1));
	return 0;
}

static int open_alt(struct debuginfo_store *debuginfo, const struct executable_id *id,
		    struct compile_inputs *inputs)
{
	static const uint8_t no_agent[16];
	struct debuginfo_entry alt;
	int r;

	r = read_alt_link(debuginfo, id, &inputs->alt_id);
	/* Damaged headers: compiling the file will give the error message. */
	if (r == -EBADMSG)
		return 0;
	if (r < 0 || inputs->alt_id.kind == EXECUTABLE_ID_NONE)
		return r;
	r = open_kind(debuginfo, &inputs->alt_id, DEBUGINFO_KIND_DEBUGINFO, &inputs->fds.alt_fd,
		      &alt);
	if (r > 0) {
		inputs->hashes.alt = alt.hash;
		inputs->size_bytes += alt.size_bytes;
	}
	/* Request the file from upstream servers; its arrival changes the hashes of the inputs. */
	if (r == 0)
		r = debuginfo_want(debuginfo, &inputs->alt_id, no_agent);
	return MIN(r, 0);
}

static int open_split(struct debuginfo_store *debuginfo, const struct executable_id *id,
		      struct compile_inputs *inputs)
{
	struct debuginfo_entry split;
	int r;

	r = open_kind(debuginfo, id, DEBUGINFO_KIND_SPLIT, &inputs->fds.split_fd, &split);
	if (r > 0) {
		inputs->hashes.split = split.hash;
		inputs->size_bytes += split.size_bytes;
	}
	return MIN(r, 0);
}

int compile_inputs_open(struct debuginfo_store *debuginfo, const struct executable_id *id,
			struct compile_inputs *ret_inputs)
{
	int r;

	*ret_inputs = (struct compile_inputs){
		.fds = { .main_fd = -1, .executable_fd = -1, .alt_fd = -1, .split_fd = -1 },
	};
	r = open_main(debuginfo, id, ret_inputs);
	if (r <= 0)
		return r;
	r = open_alt(debuginfo, id, ret_inputs);
	if (r >= 0)
		r = open_split(debuginfo, id, ret_inputs);
	return r < 0 ? r : 1;
}

void compile_inputs_release(struct compile_inputs *inputs)
{
	scoped_close(&inputs->fds.main_fd);
	scoped_close(&inputs->fds.executable_fd);
	scoped_close(&inputs->fds.alt_fd);
	scoped_close(&inputs->fds.split_fd);
}
