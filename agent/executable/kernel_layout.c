/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over kallsyms finds the image. The address ranges of modules are from /proc/modules.
 * Since Linux 6.4 (ac3b43283923) a module's text, data and read-only data are allocated separately:
 * /proc/modules shows the address of the text, but the sum of all sizes. Therefore a module's range
 * is cut at the start of the next module.
 */
#include "agent/executable/kernel_layout.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/executable/kallsyms.h"
#include "common/elf/build_id.h"
#include "common/file.h"
#include "common/scoped.h"
#include "common/vec.h"

/* /proc/modules of a distribution's kernel with 500 modules has 30 KiB. */
#define MAX_MODULES_BYTES (1 * MIB)

/* The notes of a kernel are below 2 KiB. */
#define MAX_NOTES_BYTES (64 * KIB)

VEC_DEFINE(module_vec, struct kernel_module);

/* Reads one notes file. Leaves *ret_id unchanged if the file holds no build-ID. */
static void read_notes(int dir_fd, const char *path, struct executable_id *ret_id)
{
	struct bytes notes = BYTES_INIT(MAX_NOTES_BYTES);
	struct executable_id id;

	if (file_read_at(dir_fd, path, &notes) == 0 &&
	    build_id_from_notes(bytes_view_of(&notes), &id) == 1)
		*ret_id = id;
	bytes_release(&notes);
}

static bool is_plain_name(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/');
}

static void read_module_id(const char *folders, struct kernel_module *module)
{
	scoped_free char *path = NULL;
	const struct dirent *entry;
	DIR *folder;

	if (!is_plain_name(module->name))
		return;
	if (asprintf(&path, "%s/%s/notes", folders, module->name) < 0) {
		path = NULL;
		return;
	}
	folder = opendir(path);
	if (!folder)
		return;
	while (module->id.kind == EXECUTABLE_ID_NONE && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' || strncmp(entry->d_name, ".note", 5) == 0)
			read_notes(dirfd(folder), entry->d_name, &module->id);
	(void)closedir(folder);
}

static uint64_t inode_of_module(const char *folders, const char *name)
{
	scoped_free char *path = NULL;
	struct stat status;

	if (!is_plain_name(name))
		return 0;
	if (asprintf(&path, "%s/%s", folders, name) < 0) {
		path = NULL;
		return 0;
	}
	return stat(path, &status) == 0 ? status.st_ino : 0;
}

/* The module of @layout that is the same load of @module, or NULL. */
static const struct kernel_module *find_module(const struct kernel_layout *layout,
					       const struct kernel_module *module)
{
	for (size_t i = 0; i < layout->n_modules; i++) {
		const struct kernel_module *known = &layout->modules[i];

		if (known->start == module->start)
			return known->inode == module->inode &&
					       strcmp(known->name, module->name) == 0
				       ? known
				       : NULL;
	}
	return NULL;
}

/*
 * Parses "name size refcount dependencies state 0xaddress (taints)". Ignores modules that are being
 * loaded or unloaded, because their code does not run.
 */
static bool parse_module(const char *line, struct kernel_module *ret_module)
{
	uint64_t size, start;

	*ret_module = (struct kernel_module){};
	if (sscanf(line, "%63s %" SCNu64 " %*s %*s Live 0x%" SCNx64, ret_module->name, &size,
		   &start) != 3)
		return false;
	if (start == 0 || size == 0 || start + size < start)
		return false;
	ret_module->start = start;
	ret_module->end = start + size;
	return true;
}

static int compare_modules(const void *a, const void *b)
{
	const struct kernel_module *one = a, *other = b;

	return (one->start > other->start) - (one->start < other->start);
}

/* Modules that are also in @before keep their IDs. */
static int parse_modules(char *text, const char *folders, const struct kernel_layout *before,
			 struct module_vec *modules)
{
	char *rest = text;

	for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
		const struct kernel_module *known;
		struct kernel_module module;
		int r;

		if (!parse_module(line, &module))
			continue;
		module.inode = inode_of_module(folders, module.name);
		known = find_module(before, &module);
		if (known)
			module.id = known->id;
		else
			read_module_id(folders, &module);
		r = vec_push(modules, module);
		if (r < 0)
			return r;
	}
	if (modules->count > 1)
		qsort(modules->items, modules->count, sizeof(*modules->items), compare_modules);
	for (size_t i = 1; i < modules->count; i++)
		modules->items[i - 1].end = MIN(modules->items[i - 1].end, modules->items[i].start);
	return 0;
}

/* Returns 0 without modules if /proc/modules does not exist: the kernel has none. */
static int read_modules(const struct kernel_layout_paths *paths, const struct kernel_layout *before,
			struct module_vec *modules)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MAX_MODULES_BYTES);
	const char *folders = paths->folders ? paths->folders : "/sys/module";
	int r;

	r = file_read(paths->modules, &text);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = bytes_append_byte(&text, 0);
	if (r < 0)
		return r;
	r = parse_modules((char *)text.data, folders, before, modules);
	if (r < 0)
		vec_release(modules);
	return r;
}

static bool has_same_modules(const struct kernel_layout *layout, const struct module_vec *modules)
{
	if (layout->n_modules != modules->count)
		return false;
	for (size_t i = 0; i < modules->count; i++) {
		if (!find_module(layout, &modules->items[i]))
			return false;
	}
	return true;
}

int kernel_layout_update_modules_from(const struct kernel_layout_paths *paths,
				      struct kernel_layout *layout)
{
	struct module_vec modules = {};
	int r;

	r = read_modules(paths, layout, &modules);
	if (r < 0)
		return r;
	if (has_same_modules(layout, &modules)) {
		vec_release(&modules);
		return 0;
	}
	free(layout->modules);
	layout->modules = modules.items;
	layout->n_modules = modules.count;
	return 1;
}

/* Addresses of the image's symbols, collected in one pass over kallsyms. */
struct image {
	uint64_t text, stext, end, last;
	uint64_t schedule, schedule_end;
	bool has_symbols, shows_addresses;
};

static void note_symbol(struct image *image, const struct kallsyms_symbol *symbol)
{
	image->has_symbols = true;
	if (symbol->address)
		image->shows_addresses = true;
	/* Absolute symbols are constants or per-CPU offsets, not addresses in the image. */
	if (symbol->owner[0] || symbol->type == 'A' || symbol->type == 'a')
		return;
	if (strcmp(symbol->name, "_text") == 0)
		image->text = symbol->address;
	else if (strcmp(symbol->name, "_stext") == 0)
		image->stext = symbol->address;
	else if (strcmp(symbol->name, "_end") == 0)
		image->end = symbol->address;
	else if (strcmp(symbol->name, "__schedule") == 0)
		image->schedule = symbol->address;
	/* The symbols of the image are in ascending order. */
	if (image->schedule && !image->schedule_end && symbol->address > image->schedule)
		image->schedule_end = symbol->address;
	image->last = MAX(image->last, symbol->address);
}

/*
 * Computes the address of _text from _stext if kallsyms lacks _text. Kernels for arm64 without
 * CONFIG_KALLSYMS_ALL list the symbols from _stext on. _stext is the end of the image's header: 4
 * KiB above _text up to Linux 5.10, 64 KiB since 5.11. _text is a multiple of 64 KiB. The address
 * has to be exact, because the server may have the kernel's ELF file, and the addresses in it are
 * relative to _text.
 */
#define TEXT_ALIGN UINT64_C(0x10000)

static uint64_t text_of(const struct image *image)
{
	if (image->text || image->stext < TEXT_ALIGN)
		return image->text;
	return (image->stext - 1) & ~(TEXT_ALIGN - 1);
}

static int read_image(const char *path, struct kernel_layout *layout)
{
	scoped(kallsyms_closep) struct kallsyms *kallsyms = NULL;
	struct kallsyms_symbol symbol;
	struct image image = {};
	int r;

	r = kallsyms_open(path, &kallsyms);
	if (r < 0)
		return r;
	while ((r = kallsyms_next(kallsyms, &symbol)) > 0) {
		note_symbol(&image, &symbol);
		if (image.text && image.end)
			break;
	}
	if (r < 0)
		return r;
	if (!image.has_symbols)
		return -ENOENT;
	if (!image.shows_addresses)
		return -EPERM;
	layout->text_start = text_of(&image);
	layout->text_end = image.end ? image.end : image.last;
	layout->schedule_start = image.schedule_end ? image.schedule : 0;
	layout->schedule_end = image.schedule_end;
	if (layout->text_start == 0 || layout->text_end <= layout->text_start)
		return -ENODATA;
	return 0;
}

int kernel_layout_read_from(const struct kernel_layout_paths *paths,
			    struct kernel_layout *ret_layout)
{
	struct kernel_layout layout = {};
	int r;

	r = read_image(paths->kallsyms, &layout);
	if (r < 0)
		return r;
	read_notes(AT_FDCWD, paths->notes, &layout.id);
	r = kernel_layout_update_modules_from(paths, &layout);
	if (r < 0)
		return r;
	*ret_layout = layout;
	return 0;
}

static const struct kernel_layout_paths kernel_paths = {
	.kallsyms = "/proc/kallsyms",
	.modules = "/proc/modules",
	.notes = "/sys/kernel/notes",
};

int kernel_layout_read(struct kernel_layout *ret_layout)
{
	return kernel_layout_read_from(&kernel_paths, ret_layout);
}

int kernel_layout_update_modules(struct kernel_layout *layout)
{
	return kernel_layout_update_modules_from(&kernel_paths, layout);
}

void kernel_layout_release(struct kernel_layout *layout)
{
	free(layout->modules);
	*layout = (struct kernel_layout){};
}
