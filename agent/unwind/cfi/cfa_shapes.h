/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reduces DWARF expressions in call frame information to the few shapes that a row of an unwind
 * table can hold.
 *
 * The unwinder does not interpret DWARF expressions, because compilers and the C library write only
 * a handful of shapes. Any other expression is CFA_SHAPE_UNKNOWN, and its row becomes
 * UNWIND_CFA_UNSUPPORTED.
 */

#include "common/bytes.h"

enum cfa_shape_kind {
	CFA_SHAPE_UNKNOWN = 0,
	CFA_SHAPE_REGISTER, /* reg + offset */
	CFA_SHAPE_DEREF,    /* *(reg + offset) + addend */
	CFA_SHAPE_PLT,      /* x86-64: rsp + 8 + ((rip & 15) >= offset ? 8 : 0) */
	CFA_SHAPE_INDEXED   /* x86-64: *(rsp + offset + 8 * reg) + 8 */
};

struct cfa_shape {
	uint8_t kind; /* enum cfa_shape_kind */
	uint8_t reg;  /* DWARF number */
	int32_t offset;
	int32_t addend;
};

/* @expression: the operations, without their length */
struct cfa_shape cfa_shape_of(struct bytes_view expression);
