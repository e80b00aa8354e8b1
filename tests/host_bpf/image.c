/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/host_bpf/image.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/file.h"
#include "common/frame.h"
#include "common/scoped.h"
#include "common/zstd_frame.h"

#define MAX_IMAGE_BYTES  (8 * MIB)
#define MAX_MODULE_BYTES (64 * MIB)
#define ZSTD_LEVEL       19
#define WORDS_PER_LINE   8

void image_release(struct image *image)
{
	vec_release(&image->modules);
	vec_release(&image->mappings);
	vec_release(&image->memory);
	vec_release(&image->frames);
}

/* ---- reading ---- */

static int parse_machine(struct image *image, const char *text)
{
	image->machine = strcmp(text, "x86-64") == 0  ? EM_X86_64
			 : strcmp(text, "arm64") == 0 ? EM_AARCH64
						      : EM_NONE;
	return image->machine == EM_NONE ? -EBADMSG : 0;
}

static int parse_about(struct image *image, const char *text)
{
	(void)snprintf(image->about, sizeof(image->about), "%s", text);
	return 0;
}

static int parse_pc(struct image *image, const char *text)
{
	return sscanf(text, "%" SCNx64, &image->registers.pc) == 1 ? 0 : -EBADMSG;
}

static int parse_pc_mask(struct image *image, const char *text)
{
	return sscanf(text, "%" SCNx64, &image->pc_mask) == 1 ? 0 : -EBADMSG;
}

static int parse_register(struct image *image, const char *text)
{
	unsigned int number;
	uint64_t value;

	if (sscanf(text, "%u %" SCNx64, &number, &value) != 2 ||
	    number >= HOST_UNWIND_MAX_REGISTERS)
		return -EBADMSG;
	image->registers.general[number] = value;
	return 0;
}

static int parse_module(struct image *image, const char *text)
{
	struct image_module module;

	if (sscanf(text, "%" SCNu32 " %95s", &module.number, module.file) != 2 ||
	    strchr(module.file, '/'))
		return -EBADMSG;
	return vec_push(&image->modules, module);
}

static int parse_mapping(struct image *image, const char *text)
{
	uint64_t start, end, bias;
	uint32_t number;

	if (sscanf(text, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNu32, &start, &end, &bias,
		   &number) != 4)
		return -EBADMSG;
	return vec_push(&image->mappings, (struct abi_mapping){ .start = start,
								.end = end,
								.bias = bias,
								.executable = number,
								.kind = FRAME_NATIVE });
}

static int parse_memory(struct image *image, const char *text)
{
	struct image_word word = {};
	int used = 0;
	int r = 0;

	if (sscanf(text, "%" SCNx64 " %n", &word.address, &used) != 1)
		return -EBADMSG;
	/* The most significant digit is first. */
	for (text += used; r == 0 && *text; text += used) {
		if (sscanf(text, "%" SCNx64 " %n", &word.value, &used) != 1)
			return -EBADMSG;
		r = vec_push(&image->memory, word);
		word.address += sizeof(word.value);
	}
	return r;
}

static int parse_frame(struct image *image, const char *text)
{
	struct image_frame frame;

	if (sscanf(text, "%" SCNu32 " %" SCNx64 " %63s", &frame.module, &frame.address,
		   frame.function) != 3)
		return -EBADMSG;
	return vec_push(&image->frames, frame);
}

static int parse_cut(struct image *image, const char *text)
{
	for (unsigned int cut = 0; cut < STACK_CUT_END; cut++) {
		if (strcmp(stack_cut_name(cut), text) == 0) {
			image->cut = cut;
			return 0;
		}
	}
	return -EBADMSG;
}

static int parse_line(struct image *image, const char *line)
{
	static const struct {
		const char *word;
		int (*parse)(struct image *image, const char *text);
	} kinds[] = {
		{ "hearth-image ", parse_machine },
		{ "about ", parse_about },
		{ "pc ", parse_pc },
		{ "register ", parse_register },
		{ "pc-mask ", parse_pc_mask },
		{ "module ", parse_module },
		{ "mapping ", parse_mapping },
		{ "memory ", parse_memory },
		{ "frame ", parse_frame },
		{ "cut ", parse_cut },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t length = strlen(kinds[i].word);

		if (strncmp(line, kinds[i].word, length) == 0)
			return kinds[i].parse(image, line + length);
	}
	return -EBADMSG;
}

/* Inflates @path. A NUL follows the text and is not part of its size. */
static int read_compressed(const char *path, struct bytes *ret_content)
{
	scoped(bytes_release) struct bytes file = BYTES_INIT(MAX_IMAGE_BYTES);
	int r = file_read(path, &file);

	return r < 0 ? r : zstd_decompress(bytes_view_of(&file), ret_content);
}

int image_read(const char *path, struct image *ret_image)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MAX_IMAGE_BYTES);
	struct image image = { .pc_mask = UINT64_MAX };
	char *line, *next;
	int r = read_compressed(path, &text);

	if (r == 0)
		r = bytes_append_byte(&text, 0);
	for (line = (char *)text.data; r == 0 && *line; line = next) {
		next = strchr(line, '\n');
		if (!next) {
			r = -EBADMSG;
			break;
		}
		*next++ = '\0';
		r = parse_line(&image, line);
	}
	if (r == 0 && (image.machine == EM_NONE || image.frames.count == 0))
		r = -EBADMSG;
	if (r < 0)
		image_release(&image);
	else
		*ret_image = image;
	return r;
}

/* ---- writing ---- */

static void write_memory(const struct image *image, struct bytes *text)
{
	for (size_t i = 0; i < image->memory.count; i++) {
		const struct image_word *word = &image->memory.items[i];
		bool continues =
			i > 0 && word->address == word[-1].address + 8 && i % WORDS_PER_LINE != 0;

		if (!continues)
			(void)bytes_append_format(text, "%smemory %" PRIx64, i == 0 ? "" : "\n",
						  word->address);
		(void)bytes_append_format(text, " %" PRIx64, word->value);
	}
	if (image->memory.count > 0)
		(void)bytes_append_byte(text, '\n');
}

static void write_text(const struct image *image, struct bytes *text)
{
	size_t n_registers = image->machine == EM_X86_64 ? 16 : 32;

	(void)bytes_append_format(text, "hearth-image %s\nabout %s\npc %" PRIx64 "\n",
				  image->machine == EM_X86_64 ? "x86-64" : "arm64", image->about,
				  image->registers.pc);
	for (size_t i = 0; i < n_registers; i++)
		(void)bytes_append_format(text, "register %zu %" PRIx64 "\n", i,
					  image->registers.general[i]);
	for (size_t i = 0; i < image->modules.count; i++)
		(void)bytes_append_format(text, "module %u %s\n", image->modules.items[i].number,
					  image->modules.items[i].file);
	for (size_t i = 0; i < image->mappings.count; i++) {
		const struct abi_mapping *mapping = &image->mappings.items[i];

		(void)bytes_append_format(text, "mapping %" PRIx64 " %" PRIx64 " %" PRIx64 " %u\n",
					  (uint64_t)mapping->start, (uint64_t)mapping->end,
					  (uint64_t)mapping->bias, mapping->executable);
	}
	write_memory(image, text);
	for (size_t i = 0; i < image->frames.count; i++) {
		const struct image_frame *frame = &image->frames.items[i];

		(void)bytes_append_format(text, "frame %u %" PRIx64 " %s\n", frame->module,
					  frame->address,
					  frame->function[0] ? frame->function : "?");
	}
	(void)bytes_append_format(text, "cut %s\n", stack_cut_name(image->cut));
}

static int write_compressed(const struct bytes *content, const char *path)
{
	scoped(bytes_release) struct bytes file = BYTES_INIT(MAX_IMAGE_BYTES);
	int r = bytes_error(content);

	if (r < 0)
		return r;
	r = zstd_compress(bytes_view_of(content), ZSTD_LEVEL, &file);
	return r < 0 ? r : file_replace(path, file.data, file.size, 0644);
}

int image_write(const struct image *image, const char *path)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MAX_IMAGE_BYTES);

	write_text(image, &text);
	return write_compressed(&text, path);
}

/* ---- memory ---- */

static const struct image_word *find_word(const struct image *image, uint64_t address)
{
	size_t low = 0, high = image->memory.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (image->memory.items[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < image->memory.count && image->memory.items[low].address == address
		       ? &image->memory.items[low]
		       : NULL;
}

int image_read_memory(void *argument, uint64_t address, void *buffer, size_t size)
{
	const struct image *image = argument;
	uint8_t *out = buffer;

	while (size > 0) {
		const struct image_word *word = find_word(image, address & ~UINT64_C(7));
		size_t offset = address & 7;
		size_t n = MIN(size, sizeof(word->value) - offset);

		if (!word)
			return -1;
		memcpy(out, (const uint8_t *)&word->value + offset, n);
		out += n;
		address += n;
		size -= n;
	}
	return 0;
}

/* ---- modules ---- */

struct part {
	uint64_t offset;
	uint64_t size;
};

static int copy_part(const struct elf_file *elf, struct part part, struct bytes *content)
{
	if (part.size > MAX_MODULE_BYTES || part.offset > MAX_MODULE_BYTES - part.size)
		return -EFBIG;
	while (content->size < part.offset + part.size) {
		int r = bytes_append_byte(content, 0);

		if (r < 0)
			return r;
	}
	return pread_all(elf->fd, content->data + part.offset, part.size, part.offset);
}

static bool is_needed(const struct elf_section *section)
{
	static const char *const names[] = { ".eh_frame", ".eh_frame_hdr", ".debug_frame",
					     ".shstrtab", ".note.gnu.build-id" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(section->name, names[i]) == 0)
			return section->type != SHT_NOBITS;
	return false;
}

int image_write_module(const struct elf_file *elf, const char *path)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MAX_MODULE_BYTES);
	Elf64_Ehdr header;
	int r;

	memcpy(&header, elf->header, sizeof(header));
	r = copy_part(elf, (struct part){ 0, sizeof(header) }, &content);
	if (r == 0)
		r = copy_part(elf,
			      (struct part){ header.e_phoff,
					     elf->n_program_headers * sizeof(Elf64_Phdr) },
			      &content);
	if (r == 0)
		r = copy_part(elf,
			      (struct part){ header.e_shoff,
					     (uint64_t)header.e_shnum * header.e_shentsize },
			      &content);
	for (size_t i = 0; r == 0 && i < elf->n_sections; i++)
		if (is_needed(&elf->sections[i]))
			r = copy_part(elf,
				      (struct part){ elf->sections[i].file_offset,
						     elf->sections[i].size },
				      &content);
	return r < 0 ? r : write_compressed(&content, path);
}

static int add_module(const struct image_module *module, const char *modules_folder,
		      struct host_maps *maps)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MAX_MODULE_BYTES);
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped_fd int fd = memfd_create("module", MFD_CLOEXEC);
	scoped_free char *path = NULL;
	int r;

	if (fd < 0)
		return -errno;
	if (asprintf(&path, "%s/%s.zst", modules_folder, module->file) < 0)
		return -ENOMEM;
	r = read_compressed(path, &content);
	if (r < 0)
		return r;
	r = write_all(fd, content.data, content.size);
	if (r < 0)
		return r;
	r = elf_file_open(fd, &elf);
	return r < 0 ? r : host_maps_add_elf(maps, module->number, elf);
}

int image_fill_maps(const struct image *image, const char *modules_folder, struct host_maps *maps)
{
	for (size_t i = 0; i < image->modules.count; i++) {
		int r = add_module(&image->modules.items[i], modules_folder, maps);

		if (r < 0)
			return r;
	}
	return host_maps_set_mappings(maps, image->mappings.items, image->mappings.count);
}
