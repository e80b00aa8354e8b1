/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads functions of PHP from the memory of a process: name, class, file and first line. PHP may
 * have freed the function (a closure, or all functions at the end of a request), or the process may
 * have prepared a false one: everything is bounded, and what does not look like a function is not
 * read.
 */

#include "agent/interpreter/php/php_layout.h"
#include "agent/interpreter/runtime/read_code.h"

struct php_memory {
	const struct php_code_layout *layout; /* of the version of PHP in the process */
	memory_read read;
	void *arg;
};

/*
 * Reads the function (zend_function) at @address, as python_code_read(). The qualified name has the
 * class: "Shop::price". Code of a file outside functions is "{main}", a closure "{closure}".
 */
int php_code_read(const struct php_memory *memory, uint64_t address, uint64_t known_mark,
		  struct read_code *ret_code, uint8_t *content);
