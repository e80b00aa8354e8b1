/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The layouts of PHP's structures, by version (layouts.def). A further version is a row there.
 */

#include "bpf/abi/interpreter.h"
#include "common/base.h"

/* A flag of versions: a build with thread safety (ZTS). There are no layouts of such builds. */
#define PHP_VERSION_ZTS 0x10000u

struct php_code_layout {
	uint16_t function_file, function_first_line;
};

struct php_layout {
	uint32_t version; /* major << 8 | minor */
	struct abi_php_layout walk;
	struct php_code_layout code;
};

/* NULL: the version is not known. */
const struct php_layout *php_layout_of(uint32_t version);
