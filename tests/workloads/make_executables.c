/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes many distinct ELF files, or a very large one, in a fraction of the time that a compiler
 * needs.
 *
 *   make_executables FOLDER COUNT [OPTION=NUMBER...]
 *
 *   first=0        number of the first file; the files are FOLDER/NUMBER.so
 *   min=200        functions of a file: between min and max, small files more often than large
 *   max=10000      ones (log-uniform)
 *   body=40        mean size of a function in bytes, without prologue, call and epilogue
 *   chains=4       call chains of a file; all other functions are never called
 *   depth=24       functions of a chain
 *   regions=3      parts of the file, of 64 functions each, that contain the functions of a chain
 *
 * Each file is a shared object for x86-64 with an executable segment, .eh_frame, .eh_frame_hdr and
 * a build-ID computed from its content. It needs no relocation, so that use_executables maps it
 * without a dynamic linker. The call frame information is complete, with about five rows per
 * function. Equal arguments give equal bytes.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "made_code.h"
#include "made_executable.h"
#include "named_number.h"

#define PAGE_BYTES           4096u
#define FUNCTIONS_PER_REGION 64u
#define LEAF                 UINT32_MAX
#define FDE_HEAD_BYTES       17u /* length, CIE, begin, size, no augmentation data */

/* Addresses of the executable segment differ from its file offsets, as most linkers do. */
#define TEXT_BIAS 0x1000u

/* Size of .eh_frame_hdr without its table. */
#define HEADER_BYTES 12u

static const uint8_t cie[] = {
	20,   0,   0, 0, 0,    0,  0, 0,    1,
	'z',  'R', 0, 1, 0x78, 16, 1, 0x1b, /* FDEs: relative to themselves, 4 bytes */
	0x0c, 7,   8,                       /* CFA is rsp + 8 */
	0x90, 1,                            /* return address at CFA - 8 */
	0,    0,
};

enum section {
	SECTION_NONE,
	SECTION_NOTE,
	SECTION_HEADER,
	SECTION_FRAMES,
	SECTION_TEXT,
	SECTION_NAMES,
	N_SECTIONS
};

/* Offsets of the names: 1, 20, 34, 44, 50. */
static const char section_names[] =
	"\0.note.gnu.build-id\0.eh_frame_hdr\0.eh_frame\0.text\0.shstrtab";

struct options {
	uint64_t first, min, max, body, chains, depth, regions;
};

/* The arrays have n_functions elements each. */
struct plan {
	const struct options *options;
	uint64_t number;
	uint32_t n_functions;
	uint32_t *callee;      /* LEAF: calls no function */
	uint32_t *text_offset; /* from the start of the segment */
	uint32_t *fde_offset;  /* from the start of .eh_frame */
	uint8_t *is_in_chain;
	uint8_t *is_head;
	uint32_t heads[MADE_MAX_CHAINS];
	uint64_t text_size;
	uint64_t frames_size;
};

/* File offsets, which are also the addresses of all parts except the text. */
struct layout {
	uint64_t note, header, frames, text, names, sections, end;
};

struct build_id_note {
	Elf64_Nhdr header;
	char name[4];
	uint8_t id[20];
};

static void die(const char *attempt, const char *object)
{
	fprintf(stderr, "make_executables: cannot %s '%s': %s\n", attempt, object, strerror(errno));
	exit(1);
}

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		die("allocate memory for", "functions");
	return memory;
}

static uint64_t align(uint64_t value, uint64_t alignment)
{
	return (value + alignment - 1) / alignment * alignment;
}

/* ---- the plan: callees and positions */

/*
 * Returns a function in @region that is in no chain yet, or one of another region if there is none.
 */
static uint32_t pick_function(struct plan *plan, uint64_t region, uint64_t *random)
{
	uint64_t first = region * FUNCTIONS_PER_REGION;

	for (unsigned int tries = 0; tries < 4 * FUNCTIONS_PER_REGION; tries++) {
		uint64_t function = first + made_draw(random) % FUNCTIONS_PER_REGION;

		if (function < plan->n_functions && !plan->is_in_chain[function]) {
			plan->is_in_chain[function] = 1;
			return (uint32_t)function;
		}
	}
	return pick_function(
		plan, made_draw(random) % (plan->n_functions / FUNCTIONS_PER_REGION + 1), random);
}

static void plan_chain(struct plan *plan, uint64_t chain, uint64_t *random)
{
	uint64_t depth = plan->options->depth, regions = plan->options->regions;
	uint64_t region = 0;
	uint32_t before = 0;

	for (uint64_t step = 0; step < depth; step++) {
		uint32_t function;

		if (step == 0 || step * regions / depth != (step - 1) * regions / depth)
			region = made_draw(random) % (plan->n_functions / FUNCTIONS_PER_REGION + 1);
		function = pick_function(plan, region, random);
		if (step == 0) {
			plan->heads[chain] = function;
			plan->is_head[function] = 1;
		} else {
			plan->callee[before] = function;
		}
		before = function;
	}
	plan->callee[before] = LEAF;
}

static void plan_calls(struct plan *plan)
{
	const struct options *options = plan->options;
	uint64_t random = ~plan->number;
	double spread = (double)options->max / (double)options->min;

	plan->n_functions =
		(uint32_t)((double)options->min *
			   pow(spread, (double)(made_draw(&random) >> 11) / (double)(1ull << 53)));
	plan->callee = allocate(plan->n_functions, sizeof(*plan->callee));
	plan->text_offset = allocate(plan->n_functions, sizeof(*plan->text_offset));
	plan->fde_offset = allocate(plan->n_functions, sizeof(*plan->fde_offset));
	plan->is_in_chain = allocate(plan->n_functions, 1);
	plan->is_head = allocate(plan->n_functions, 1);
	for (uint32_t i = 0; i < plan->n_functions; i++)
		plan->callee[i] = made_draw(&random) % 8 == 0
					  ? LEAF
					  : (uint32_t)(made_draw(&random) % plan->n_functions);
	for (uint64_t chain = 0; chain < options->chains; chain++)
		plan_chain(plan, chain, &random);
}

static void emit(const struct plan *plan, uint32_t function, struct made_code *code)
{
	uint32_t callee = plan->callee[function];

	made_code_emit(
		&(struct made_function){
			.seed = plan->number << 32 ^ function,
			.mean_body = (uint32_t)plan->options->body,
			.is_head = plan->is_head[function] != 0,
			.is_leaf = callee == LEAF,
			.callee_distance = callee == LEAF
						   ? 0
						   : (int64_t)plan->text_offset[callee] -
							     (int64_t)plan->text_offset[function],
		},
		code);
}

static uint32_t fde_size(const struct made_code *code)
{
	return (uint32_t)align(FDE_HEAD_BYTES + code->rules.size, 8);
}

static void plan_sizes(struct plan *plan)
{
	static struct made_code code;
	uint64_t text = sizeof(struct made_header), frames = sizeof(cie);

	for (uint32_t i = 0; i < plan->n_functions; i++) {
		emit(plan, i, &code);
		plan->text_offset[i] = (uint32_t)text;
		plan->fde_offset[i] = (uint32_t)frames;
		text = align(text + code.text.size, 16);
		frames += fde_size(&code);
	}
	plan->text_size = text;
	plan->frames_size = frames + sizeof(uint32_t);
	if (text + frames > INT32_MAX) {
		fprintf(stderr, "make_executables: a file of more than 2 GiB, take less functions "
				"or a smaller body\n");
		exit(1);
	}
}

static void plan_release(struct plan *plan)
{
	free(plan->callee);
	free(plan->text_offset);
	free(plan->fde_offset);
	free(plan->is_in_chain);
	free(plan->is_head);
}

/* ---- the file */

static struct layout lay_out(const struct plan *plan)
{
	struct layout layout = { .note = 1024 };

	layout.header = align(layout.note + sizeof(struct build_id_note), 8);
	layout.frames = align(layout.header + HEADER_BYTES + 8ull * plan->n_functions, 8);
	layout.text = align(layout.frames + plan->frames_size, PAGE_BYTES);
	layout.names = layout.text + plan->text_size;
	layout.sections = align(layout.names + sizeof(section_names), 8);
	layout.end = layout.sections + N_SECTIONS * sizeof(Elf64_Shdr);
	return layout;
}

static void write_u32(uint8_t *to, uint64_t value)
{
	uint32_t low = (uint32_t)value;

	memcpy(to, &low, sizeof(low));
}

/* Writes the text, .eh_frame, and the table of .eh_frame_hdr. */
static void write_functions(const struct plan *plan, const struct layout *layout, uint8_t *file)
{
	static struct made_code code;
	uint64_t text_address = layout->text + TEXT_BIAS;

	memcpy(file + layout->frames, cie, sizeof(cie));
	for (uint32_t i = 0; i < plan->n_functions; i++) {
		uint64_t begin = text_address + plan->text_offset[i],
			 fde = layout->frames + plan->fde_offset[i];
		uint8_t *entry = file + layout->header + HEADER_BYTES + 8ull * i;

		emit(plan, i, &code);
		memcpy(file + layout->text + plan->text_offset[i], code.text.bytes, code.text.size);
		write_u32(file + fde, fde_size(&code) - 4);
		write_u32(file + fde + 4, plan->fde_offset[i] + 4);
		write_u32(file + fde + 8, begin - (fde + 8));
		write_u32(file + fde + 12, code.text.size);
		memcpy(file + fde + FDE_HEAD_BYTES, code.rules.bytes, code.rules.size);
		write_u32(entry, begin - layout->header);
		write_u32(entry + 4, fde - layout->header);
	}
}

static void write_headers(const struct plan *plan, const struct layout *layout, uint8_t *file)
{
	static const uint8_t encodings[] = { 1, 0x1b, 0x03, 0x3b };
	struct made_header made = { .magic = MADE_MAGIC,
				    .n_chains = (uint32_t)plan->options->chains };
	struct build_id_note note = { { 4, sizeof(note.id), NT_GNU_BUILD_ID }, "GNU", { 0 } };
	XXH128_hash_t hash;

	for (uint32_t i = 0; i < made.n_chains; i++)
		made.head_offset[i] = plan->text_offset[plan->heads[i]];
	memcpy(file + layout->text, &made, sizeof(made));
	memcpy(file + layout->header, encodings, sizeof(encodings));
	write_u32(file + layout->header + 4, layout->frames - (layout->header + 4));
	write_u32(file + layout->header + 8, plan->n_functions);
	hash = XXH3_128bits(file + layout->frames, layout->text + plan->text_size - layout->frames);
	memcpy(note.id, &hash, sizeof(hash));
	write_u32(note.id + sizeof(hash), plan->number);
	memcpy(file + layout->note, &note, sizeof(note));
}

static void write_segments(const struct plan *plan, const struct layout *layout, uint8_t *file)
{
	uint64_t data_size = layout->frames + plan->frames_size,
		 text_address = layout->text + TEXT_BIAS;
	uint64_t header_size = HEADER_BYTES + 8ull * plan->n_functions;
	const Elf64_Phdr segments[] = {
		{ PT_LOAD, PF_R, 0, 0, 0, data_size, data_size, PAGE_BYTES },
		{ PT_LOAD, PF_R | PF_X, layout->text, text_address, text_address, plan->text_size,
		  plan->text_size, PAGE_BYTES },
		{ PT_NOTE, PF_R, layout->note, layout->note, layout->note,
		  sizeof(struct build_id_note), sizeof(struct build_id_note), 4 },
		{ PT_GNU_EH_FRAME, PF_R, layout->header, layout->header, layout->header,
		  header_size, header_size, 8 },
		{ PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0, 0, 16 },
	};
	const Elf64_Ehdr elf = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(elf),
		.e_shoff = layout->sections,
		.e_ehsize = sizeof(elf),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = sizeof(segments) / sizeof(segments[0]),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = N_SECTIONS,
		.e_shstrndx = SECTION_NAMES,
	};

	memcpy(file, &elf, sizeof(elf));
	memcpy(file + sizeof(elf), segments, sizeof(segments));
}

static void write_sections(const struct plan *plan, const struct layout *layout, uint8_t *file)
{
	uint64_t header_size = HEADER_BYTES + 8ull * plan->n_functions;
	const Elf64_Shdr sections[N_SECTIONS] = {
		[SECTION_NOTE] = { 1, SHT_NOTE, SHF_ALLOC, layout->note, layout->note,
				   sizeof(struct build_id_note), 0, 0, 4, 0 },
		[SECTION_HEADER] = { 20, SHT_PROGBITS, SHF_ALLOC, layout->header, layout->header,
				     header_size, 0, 0, 8, 0 },
		[SECTION_FRAMES] = { 34, SHT_PROGBITS, SHF_ALLOC, layout->frames, layout->frames,
				     plan->frames_size, 0, 0, 8, 0 },
		[SECTION_TEXT] = { 44, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				   layout->text + TEXT_BIAS, layout->text, plan->text_size, 0, 0,
				   16, 0 },
		[SECTION_NAMES] = { 50, SHT_STRTAB, 0, 0, layout->names, sizeof(section_names), 0,
				    0, 1, 0 },
	};

	memcpy(file + layout->names, section_names, sizeof(section_names));
	memcpy(file + layout->sections, sections, sizeof(sections));
}

static void write_file(const struct plan *plan, const char *path)
{
	struct layout layout = lay_out(plan);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	uint8_t *file;

	if (fd < 0 || ftruncate(fd, (off_t)layout.end) != 0)
		die("make", path);
	file = mmap(NULL, layout.end, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED)
		die("write to", path);
	write_functions(plan, &layout, file);
	write_headers(plan, &layout, file);
	write_segments(plan, &layout, file);
	write_sections(plan, &layout, file);
	if (munmap(file, layout.end) != 0 || close(fd) != 0)
		die("write to", path);
}

/* ---- arguments */

static int parse_option(const char *argument, struct options *options)
{
	const struct named_number names[] = {
		{ "first", &options->first },     { "min", &options->min },
		{ "max", &options->max },         { "body", &options->body },
		{ "chains", &options->chains },   { "depth", &options->depth },
		{ "regions", &options->regions },
	};

	return read_argument(argument, names, sizeof(names) / sizeof(names[0]));
}

static int check_options(const struct options *options)
{
	if (options->chains == 0 || options->chains > MADE_MAX_CHAINS || options->depth == 0 ||
	    options->regions == 0)
		return -EINVAL;
	if (options->min > options->max || options->max > 1u << 24)
		return -EINVAL;
	/*
	 * At most half of the functions are in chains, so that the search for a free one is short.
	 */
	return options->min >= 2 * options->chains * options->depth ? 0 : -EINVAL;
}

int main(int argc, char **argv)
{
	struct options options = {
		.min = 200,
		.max = 10000,
		.body = 40,
		.chains = 4,
		.depth = 24,
		.regions = 3,
	};
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	int r = argc > 2 && count > 0 ? 0 : -EINVAL;

	for (int i = 3; i < argc && r == 0; i++)
		r = parse_option(argv[i], &options);
	if (r == 0)
		r = check_options(&options);
	if (r < 0) {
		fprintf(stderr,
			"usage: make_executables FOLDER COUNT [first= min= max= body= chains= "
			"depth= regions=]\n"
			"min must be 2 * chains * depth or more, chains at most %d\n",
			MADE_MAX_CHAINS);
		return 2;
	}
	for (uint64_t i = 0; i < count; i++) {
		struct plan plan = { .options = &options, .number = options.first + i };
		char path[4096];

		(void)snprintf(path, sizeof(path), "%s/%llu.so", argv[1],
			       (unsigned long long)plan.number);
		plan_calls(&plan);
		plan_sizes(&plan);
		write_file(&plan, path);
		plan_release(&plan);
	}
	return 0;
}
