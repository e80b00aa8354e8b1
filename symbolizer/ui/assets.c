/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The assembler copies each file and its gzip form into .rodata, and the table points to them.
 * embed.cmake makes the gzip forms and ui_files.h, which has their sizes. A file of assets.def that
 * is missing in CMakeLists.txt is a build error.
 */

#include "symbolizer/ui/assets.h"

#include <string.h>

#include "ui_files.h"

/* The symbols are local to this file. "hidden" makes the compiler use them directly, because no
 * other library can replace them. */
#define EMBED(symbol, path)                                                                        \
	__asm__(".pushsection .rodata, \"a\", @progbits\n"                                         \
		".balign 16\n"                                                                     \
		".local " #symbol "\n" #symbol ":\n"                                               \
		".incbin \"" path "\"\n"                                                           \
		".popsection\n");                                                                  \
	extern const uint8_t symbol[] __attribute__((visibility("hidden")))

#define UI_ASSET(id, file, content_type)                                                           \
	EMBED(ui_plain_##id, UI_SOURCE_FOLDER "/" file);                                           \
	EMBED(ui_gzip_##id, UI_BUILD_FOLDER "/" file ".gz");
#include "symbolizer/ui/assets.def"
#undef UI_ASSET

static const struct ui_asset assets[] = {
#define UI_ASSET(id, file, type)                                                                   \
	{                                                                                          \
		.path = "/" file,                                                                  \
		.content_type = type,                                                              \
		.etag = UI_ETAG_##id,                                                              \
		.gzip = ui_gzip_##id,                                                              \
		.gzip_size = UI_GZIP_SIZE_##id,                                                    \
		.plain = ui_plain_##id,                                                            \
		.plain_size = UI_PLAIN_SIZE_##id,                                                  \
	},
#include "symbolizer/ui/assets.def"
#undef UI_ASSET
};

const struct ui_asset *ui_asset_find(const char *path)
{
	if (strcmp(path, "/") == 0)
		path = "/index.html";

	for (size_t i = 0; i < ARRAY_SIZE(assets); i++) {
		if (strcmp(assets[i].path, path) == 0)
			return &assets[i];
	}
	return NULL;
}
