/* SPDX-License-Identifier: Apache-2.0 */
/* offline.cmake makes the file, and the assembler copies it into .rodata. */

#include "symbolizer/ui/offline_page.h"

#include <string.h>

/* Where the data belongs. */
#define MARK "@PROFILE@"

__asm__(".pushsection .rodata, \"a\", @progbits\n"
	".local offline_file\noffline_file:\n"
	".incbin \"" UI_BUILD_FOLDER "/offline.html\"\n"
	".local offline_file_end\noffline_file_end:\n"
	".byte 0\n"
	".popsection\n");
extern const uint8_t offline_file[] __attribute__((visibility("hidden")));
extern const uint8_t offline_file_end[] __attribute__((visibility("hidden")));

struct offline_page offline_page_get(void)
{
	const size_t size = (size_t)(offline_file_end - offline_file);
	const uint8_t *mark = memmem(offline_file, size, MARK, strlen(MARK));
	const uint8_t *tail;

	assert(mark);
	tail = mark + strlen(MARK);
	return (struct offline_page){
		.head = { .data = offline_file, .size = (size_t)(mark - offline_file) },
		.tail = { .data = tail, .size = (size_t)(offline_file_end - tail) },
	};
}
