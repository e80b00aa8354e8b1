/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/program_links.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi/config.h"
#include "bpf/hearth.skel.h"

int program_links_attach(struct program_link_vec *links, const struct hearth_bpf *skeleton,
			 const struct bpf_program_set *set)
{
	for (size_t i = 0; i < set->n_programs; i++) {
		const struct bpf_program_row *row = &set->programs[i];
		struct program_link link = { .program = row->name };
		const struct bpf_program *program =
			bpf_object__find_program_by_name(skeleton->obj, row->name);
		int r;

		if (!row->attached || !program || bpf_program__fd(program) < 0)
			continue;
		r = vec_reserve(links, 1);
		if (r < 0)
			return r;
		link.link = bpf_program__attach(program);
		if (!link.link)
			return errno ? -errno : -EIO;
		links->items[links->count++] = link;
	}
	return 0;
}

int program_links_open_iterator(const struct program_link_vec *links, const char *program)
{
	for (size_t i = 0; i < links->count; i++) {
		int fd;

		if (strcmp(links->items[i].program, program) != 0)
			continue;
		fd = bpf_iter_create(bpf_link__fd(links->items[i].link));
		return fd < 0 ? -errno : fd;
	}
	return -ENOENT;
}

void program_links_release(struct program_link_vec *links)
{
	for (size_t i = 0; i < links->count; i++)
		bpf_link__destroy(links->items[i].link);
	vec_release(links);
}
