/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The programs that are attached to tracepoints or are iterators. Only bpf_programs.c uses them. */

#include "agent/bpf_programs/program_set.h"
#include "common/vec.h"

struct bpf_link;

struct program_link {
	const char *program; /* borrowed from the set */
	struct bpf_link *link;
};

VEC_DEFINE(program_link_vec, struct program_link);

/* See bpf_programs_attach() and bpf_programs_open_iterator(). */
int program_links_attach(struct program_link_vec *links, const struct hearth_bpf *skeleton,
			 const struct bpf_program_set *set);
int program_links_open_iterator(const struct program_link_vec *links, const char *program);

/* Detaches all. */
void program_links_release(struct program_link_vec *links);
