/* SPDX-License-Identifier: Apache-2.0 */
#include <EXTERN.h>
#include <perl.h>

#include <stddef.h>

#include "tests/unit/agent/interpreter/perl/perl_headers.h"

#if PERL_VERSION >= 36
#define STASH_HAS_NAMES (offsetof(struct xpvhv_with_aux, xhv_aux) == 32)
#else
#define STASH_HAS_NAMES false
#endif

#define block_offset(field) offsetof(PERL_CONTEXT, cx_u.cx_blk.field)

struct perl_headers perl_headers_read(void)
{
	return (struct perl_headers)
	{
		.version = PERL_REVISION << 8 | PERL_VERSION,
#if defined(USE_ITHREADS)
		.has_threads = true, .cop = offsetof(struct interpreter, Icurcop),
		.stack = offsetof(struct interpreter, Icurstackinfo),
		.instruction = offsetof(struct interpreter, Iop),
		.cop_file = offsetof(COP, cop_file),
#else
		.cop_file = offsetof(COP, cop_filegv),
#endif
		.stack_kind = offsetof(PERL_SI, si_type), .context_bytes = sizeof(PERL_CONTEXT),
		.context_cv = block_offset(blk_u.blku_sub.cv), .next_state = OP_NEXTSTATE,
		.eval_string = OP_ENTEREVAL, .eval_block = OP_ENTERTRY,
		.stash_has_names = STASH_HAS_NAMES, .contexts = offsetof(PERL_SI, si_cxstack),
		.previous = offsetof(PERL_SI, si_prev), .context_index = offsetof(PERL_SI, si_cxix),
		.context_cop = block_offset(blku_oldcop),
		.context_return = block_offset(blk_u.blku_sub.retop),
		.eval_return = block_offset(blk_u.blku_eval.retop), .kind_sub = CXt_SUB,
		.kind_format = CXt_FORMAT, .kind_eval = CXt_EVAL, .kind_block = CXt_NULL,
		.called_from_c = CXp_MULTICALL, .eval_is_block = CXp_TRYBLOCK,
		.stack_main = PERLSI_MAIN, .cop_line = offsetof(COP, cop_line),
		.type_glob = SVt_PVGV, .type_hash = SVt_PVHV, .type_sub = SVt_PVCV,
		.type_format = SVt_PVFM, .has_names = SVf_OOK,
		.sub_stash = offsetof(XPVCV, xcv_stash), .sub_start = offsetof(XPVCV, xcv_start_u),
		.sub_glob = offsetof(XPVCV, xcv_gv_u), .sub_file = offsetof(XPVCV, xcv_file),
		.sub_flags = offsetof(XPVCV, xcv_flags), .is_c = CVf_ISXSUB, .is_named = CVf_NAMED,
		.is_lexical = CVf_LEXICAL, .is_copy = CVf_CLONED, .is_anonymous = CVf_ANON,
		.glob_name = offsetof(XPVGV, xiv_u), .glob_stash = offsetof(XPVGV, xnv_u),
		.hash_max = offsetof(XPVHV, xhv_max),
		.names_count = offsetof(struct xpvhv_aux, xhv_name_count),
		.name_length = offsetof(HEK, hek_len), .name_text = offsetof(HEK, hek_key),
	};
}
