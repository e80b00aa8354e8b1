/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The layouts of Perl's structures, by version (layouts.def). A further version is a row there.
 */

#include "bpf/abi/interpreter.h"
#include "common/base.h"

/* A flag of versions: a build without threads. Its variables are global ones. */
#define PERL_VERSION_NO_THREADS 0x10000u

struct perl_layout {
	uint32_t version;            /* major << 8 | minor */
	struct abi_perl_layout walk; /* of a build with threads, without addresses */
	/* numbers of instructions: the beginning of a statement, and of an eval block */
	uint16_t next_state, eval_block;
	bool stash_has_names; /* the names of a package are in the body of its hash */
};

/* NULL: the version is not known. Its flag is ignored. */
const struct perl_layout *perl_layout_of(uint32_t version);
