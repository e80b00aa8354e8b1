/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the headers of an installed Perl say, for test_perl_layout.c. */

#include <stdbool.h>
#include <stdint.h>

/* The first group is the row of layouts.def, the second one what is the same in all versions. */
struct perl_headers {
	uint32_t version; /* major << 8 | minor */
	bool has_threads;
	uint32_t cop, stack, stack_kind, context_bytes, context_cv;
	uint32_t next_state, eval_string, eval_block;
	bool stash_has_names;

	uint32_t instruction, contexts, previous, context_index;
	uint32_t context_cop, context_return, eval_return;
	uint32_t kind_sub, kind_format, kind_eval, kind_block;
	uint32_t called_from_c, eval_is_block, stack_main;
	uint32_t cop_line, cop_file;
	uint32_t type_glob, type_hash, type_sub, type_format, has_names;
	uint32_t sub_stash, sub_start, sub_glob, sub_file, sub_flags;
	uint32_t is_c, is_named, is_lexical, is_copy, is_anonymous;
	uint32_t glob_name, glob_stash, hash_max, names_count, name_length, name_text;
};

struct perl_headers perl_headers_read(void);
