/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The distinct frames of a selection's stacks. Each is resolved once: in an executable to the
 * innermost function at its address and the chain of functions that this one is inlined into; in a
 * code object to the name of the object. The names do not depend on
 * the process, but labels do (own code or library; the path of a file without names):
 * frame_label.h makes them.
 */

#include "common/vec.h"
#include "symbolizer/store/store_view.h"
#include "symbolizer/symbols/resolver.h"

/* Why a frame has no name. FRAME_NAMED (0): it has one. */
enum frame_status {
	FRAME_NAMED,
	FRAME_NO_DEBUGINFO,
	FRAME_STRIPPED,
	FRAME_OUTSIDE,
	FRAME_TABLE_PENDING,
	FRAME_TABLE_FAILED,
	FRAME_NO_MAPPING, /* no executable, or its segments do not contain the file offset */
};

#define FRAME_NO_FUNCTION UINT32_MAX

/*
 * A function, inlined or not, that contains the addresses of frames. Many addresses share one, and
 * its labels are made once. A label is 1 + the tree's string_id, or 0 until it is made.
 */
struct frame_function {
	const char *name;         /* NULL: only the source line is known, and nothing is shown */
	const char *linkage_name; /* NULL: not known */
	const char *file;         /* source file; NULL: not known */
	uint32_t line;            /* of the address or of the inlined call; 0: not known */
	uint32_t first_line;      /* of the definition; 0: not known */
	bool shows_line;          /* labels have file and line: functions of scripts */
	uint32_t caller;          /* the function it is inlined into, lower; or FRAME_NO_FUNCTION */
	uint32_t own_label;       /* in the process's main program */
	uint32_t library_label;   /* in another file */
	uint32_t kernel_label;
	uint32_t code_label; /* in a code object */
};

struct frame {
	struct store_frame stored;
	enum frame_status status;
	uint32_t function;       /* the innermost, if the frame is FRAME_NAMED */
	uint32_t executable;     /* index in the table's executables, or FRAME_NO_EXECUTABLE */
	uint32_t code_object;    /* index in the table's code_objects, or FRAME_NO_CODE_OBJECT */
	uint64_t function_start; /* ELF address, if it has no name; or RESOLVE_NO_START */
	uint32_t nameless_label; /* 1 + string_id of a frame without a name; 0: not made */
	bool kernel;
};

#define FRAME_NO_EXECUTABLE  UINT32_MAX
#define FRAME_NO_CODE_OBJECT UINT32_MAX

VEC_DEFINE(frame_function_vec, struct frame_function);

/*
 *   frames[n_frames]
 *   executables[n_executables]  sorted by ID
 *   code_objects[n_code_objects]  sorted by ID, with file and line table
 *   slots[slot_mask + 1]        hash table of frames: 1 + index, 0 free
 */
struct frame_table {
	struct frame *frames;
	size_t n_frames;
	size_t capacity;
	uint32_t *slots;
	size_t slot_mask;
	struct memory_budget *budget; /* of frames and slots; or NULL */
	uint64_t taken_bytes;         /* of the budget */
	struct frame_function_vec functions;
	struct store_executable *executables;
	size_t n_executables;
	struct store_code_object *code_objects;
	size_t n_code_objects;
	uint32_t n_pending; /* executables with a symbol table that is still being made */
};

int frame_table_init(struct frame_table *table);
void frame_table_release(struct frame_table *table);

/* Finds or adds a frame; *ret_index stays valid. Returns 0 or -ENOMEM. */
int frame_table_add(struct frame_table *table, const struct store_frame *frame,
		    uint32_t *ret_index);

/*
 * The address by which the code of a frame is found in @executable, its executable: the ELF
 * address, or, if *ret_from_text, that relative to the symbol _text of the kernel image. False: no
 * segment has the file offset that the agent sent.
 */
bool frame_code_address(const struct frame *frame, const struct store_executable *executable,
			uint64_t *ret_address, bool *ret_from_text);

struct frame_names {
	struct store_view *view;
	struct resolver *resolver;
	const struct clock *clock;
	struct arena *arena;  /* for names */
	uint64_t patience_ns; /* longest wait for symbol tables that are being made, in total */
	bool no_inlines;      /* name frames after the outermost function, which has the code */
};

VEC_DEFINE(object_ids, uint32_t);

/*
 * Lists the objects of those frames that @has_object selects, each once, in rising order. Returns 0
 * or -ENOMEM. frame_table_compare_ids() compares two of them for bsearch().
 */
int frame_table_list_objects(const struct frame_table *table,
			     bool (*has_object)(const struct frame *frame), struct object_ids *ids);
int frame_table_compare_ids(const void *left, const void *right);

/* Names all frames. Returns 0 or a negative errno. */
int frame_table_resolve(struct frame_table *table, const struct frame_names *names);
