/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Makes a test program its own table helper, like the server: add this file to the test's SOURCES,
 * and make its resolver with table_helper.h, or use "/proc/self/exe" as the helper's program.
 */

#include "symbolizer/symbols/compile/table_helper.h"

__attribute__((constructor)) static void become_a_helper_if_asked(int argc, char **argv)
{
	if (table_helper_is_asked(argc, argv))
		table_helper_run(argc, argv);
}
