/* SPDX-License-Identifier: Apache-2.0 */
/* Reads machine code of stored executables. Only chunks with headers and code are expanded. */

#include "common/elf/elf_code.h"
#include "common/file.h"
#include "symbolizer/debuginfo/debuginfo_private.h"

static int read_piece(struct debuginfo_view *view, const struct elf_file *elf,
		      struct debuginfo_code *piece)
{
	struct elf_code code;
	size_t size;
	int r;

	if (elf_code_find(elf, piece->elf_addr, &code) == 0)
		return 0;
	size = (size_t)MIN(code.size, (uint64_t)piece->size);
	r = debuginfo_view_read(view, code.file_offset, size);
	if (r == 0)
		r = pread_all(view->fd, piece->bytes, size, code.file_offset);
	/* A section that begins in the file and ends beyond it. */
	if (r == -ERANGE)
		return -EBADMSG;
	if (r == 0)
		piece->n_bytes = size;
	return r;
}

int debuginfo_read_code(struct debuginfo_store *store, const struct executable_id *id,
			struct debuginfo_code *pieces, size_t count, uint16_t *ret_machine)
{
	const struct debuginfo_key key = { .id = *id,
					   .kind = DEBUGINFO_KIND_EXECUTABLE,
					   .path = "" };
	scoped(debuginfo_view_releasep) struct debuginfo_view view;
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	int r;

	for (size_t i = 0; i < count; i++)
		pieces[i].n_bytes = 0;
	r = debuginfo_view_open(store, &key, &view);
	if (r <= 0)
		return r;
	r = debuginfo_view_read_headers(&view);
	if (r == 0)
		r = elf_file_open(view.fd, &elf);
	for (size_t i = 0; i < count && r == 0; i++)
		r = read_piece(&view, elf, &pieces[i]);
	if (r < 0)
		return r;
	*ret_machine = elf->machine;
	return 1;
}
