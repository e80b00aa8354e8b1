/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads code objects of CPython from the memory of a process: the names of a function, its file,
 * and its line table, which the server decodes. The process may have freed the object, or prepared
 * false ones: everything is bounded, and nothing but sizes is believed.
 */

#include "agent/interpreter/python/python_layout.h"
#include "agent/interpreter/runtime/read_code.h"

struct python_memory {
	const struct python_code_layout *layout; /* of the version of CPython in the process */
	memory_read read;
	void *arg;
};

/*
 * Reads the object at @address: *ret_code, and into @content one after the other function,
 * qualified name, file and line table, at most CODE_CONTENT_BYTES. 1: read; 0: its mark is
 * @known_mark, and nothing else was read; -EBADMSG: there is no code object; or the negative errno
 * of memory->read.
 */
int python_code_read(const struct python_memory *memory, uint64_t address, uint64_t known_mark,
		     struct read_code *ret_code, uint8_t *content);
