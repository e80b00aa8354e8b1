/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uploads of real files: a program, the stripped program, and its debug sections.
 */

#include "tests/unit/symbolizer/debuginfo/debuginfo_fixture.h"

#include <elf.h>
#include <sys/stat.h>

#include "common/elf/build_id.h"

#define FULL     SAMPLE_FULL
#define STRIPPED SAMPLE_STRIPPED
#define DEBUG    SAMPLE_DEBUG
#define PLAIN    SAMPLE ".plain"

static struct debuginfo_store *open_debuginfo(const char *folder)
{
	struct debuginfo_store *store = NULL;

	assert_ok(debuginfo_store_open(folder, &system_clock, &store));
	return store;
}

static struct executable_id id_of_file(const char *path)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct executable_id id;

	assert_true(fd >= 0);
	assert_ok(elf_file_open(fd, &elf));
	assert_int_equal(build_id_from_elf(elf, &id), 1);
	return id;
}

static int upload_bytes(struct debuginfo_store *store, const struct executable_id *id,
			enum debuginfo_origin origin, struct bytes_view content, size_t piece,
			struct debuginfo_entry *entry, char *message)
{
	scoped(debuginfo_upload_freep) struct debuginfo_upload *upload = NULL;

	assert_ok(debuginfo_upload_begin(store, id, origin, &upload, message));
	for (size_t i = 0; i < content.size; i += piece) {
		int r = debuginfo_upload_append(
			upload,
			(struct bytes_view){ content.data + i, MIN(piece, content.size - i) },
			message);

		if (r < 0)
			return r;
	}
	return debuginfo_upload_commit(upload, entry, message);
}

static int upload_file(struct debuginfo_store *store, const struct executable_id *id,
		       enum debuginfo_origin origin, const char *path,
		       struct debuginfo_entry *entry, char *message)
{
	scoped(bytes_release) struct bytes content = {};

	read_sample(path, &content);
	return upload_bytes(store, id, origin, bytes_view_of(&content), 10000, entry, message);
}

static void assert_same_content(int fd, const char *path)
{
	scoped(bytes_release) struct bytes wanted = {};
	scoped_free uint8_t *got = NULL;
	struct stat status;

	read_sample(path, &wanted);
	assert_ok(fstat(fd, &status));
	assert_int_equal(status.st_size, wanted.size);
	assert_int_equal(status.st_nlink, 0);
	got = malloc(wanted.size);
	assert_int_equal(read(fd, got, wanted.size), wanted.size);
	assert_memory_equal(got, wanted.data, wanted.size);
}

static void uploaded_files_are_read_back(void **state)
{
	static const struct {
		const char *path;
		enum debuginfo_richness richness;
	} cases[] = {
		{ STRIPPED, DEBUGINFO_SYMBOLS }, /* .dynsym */
		{ DEBUG, DEBUGINFO_DWARF },
	};
	scoped(debuginfo_store_freep) struct debuginfo_store *store = open_debuginfo(*state);
	struct executable_id id = sample_identity();
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_entry entry;

	assert_int_equal(debuginfo_find(store, &id, &entry), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped_fd int fd = -1;

		assert_int_equal(upload_file(store, &id, DEBUGINFO_FROM_AGENT, cases[i].path,
					     &entry, message),
				 1);
		assert_int_equal(entry.richness, cases[i].richness);
		assert_int_equal(entry.origin, DEBUGINFO_FROM_AGENT);
		assert_int_equal(debuginfo_find(store, &id, &entry), 1);
		assert_int_equal(entry.richness, cases[i].richness);
		assert_true(entry.stored_bytes > 0 && entry.stored_bytes < entry.size_bytes);
		assert_true(executable_id_equal(&entry.id, &id));
		assert_int_equal(debuginfo_open_file(store, &id, &fd, &entry), 1);
		assert_same_content(fd, cases[i].path);
	}
	assert_int_equal(count_leftovers(*state), 0);
}

static void a_system_binary_is_accepted(void **state)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store = open_debuginfo(*state);
	struct executable_id id = id_of_file("/bin/true");
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_entry entry;
	scoped_fd int fd = -1;

	assert_int_equal(
		upload_file(store, &id, DEBUGINFO_FROM_AGENT, "/bin/true", &entry, message), 1);
	assert_int_equal(debuginfo_open_file(store, &id, &fd, &entry), 1);
	assert_same_content(fd, "/bin/true");
}

static void content_of_many_chunks_survives_a_restart(void **state)
{
	struct debuginfo_store *store = open_debuginfo(*state);
	scoped(bytes_release) struct bytes large = {};
	struct executable_id id = sample_identity();
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_entry entry;
	scoped_free char *path = NULL;
	scoped_fd int fd = -1;
	uint32_t random = 1;

	/* Several transactions of chunks, and a last chunk that is not full. */
	read_sample(FULL, &large);
	while (large.size < 9 * MIB + 12345) {
		random = random * 1664525 + 1013904223;
		assert_ok(bytes_append(&large, &random, sizeof(random)));
	}
	path = write_file_in(*state, "large", large.data, large.size);
	assert_int_equal(upload_bytes(store, &id, DEBUGINFO_FROM_PIPELINE, bytes_view_of(&large),
				      700001, &entry, message),
			 1);
	assert_int_equal(entry.size_bytes, large.size);
	(void)debuginfo_store_free(store);
	store = open_debuginfo(*state);
	assert_int_equal(debuginfo_open_file(store, &id, &fd, &entry), 1);
	assert_same_content(fd, path);
	assert_true(entry.uploaded_wall_ns > 0);
	(void)debuginfo_store_free(store);
}

static void files_of_other_identities_or_formats_are_refused(void **state)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store = open_debuginfo(*state);
	struct executable_id right = sample_identity();
	struct executable_id wrong = sample_identity();
	scoped(bytes_release) struct bytes content = {};
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_entry entry;

	wrong.bytes[0] = 0xee;
	read_sample(FULL, &content);
	{
		const struct {
			const struct executable_id *id;
			struct bytes_view content;
			const char *says;
		} cases[] = {
			{ &wrong, bytes_view_of(&content),
			  "the file is '00112233445566778899aabbccddeeff00112233'" },
			{ &right, { (const uint8_t *)"#!/bin/sh\n", 10 }, "not an ELF file" },
			{ &right, { NULL, 0 }, "not an ELF file" },
			{ &right, { content.data, content.size - 1 }, "cut short" },
			{ &right, { content.data, content.size / 2 }, "cut short" },
			{ &right, { content.data, 64 }, "cut short" },
			{ &right, { content.data, 10 }, "cut short" },
		};

		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			assert_errno(upload_bytes(store, cases[i].id, DEBUGINFO_FROM_AGENT,
						  cases[i].content, 4096, &entry, message),
				     -EBADMSG);
			if (!strstr(message, cases[i].says))
				fail_msg("case %zu: '%s'", i, message);
		}
	}
	assert_errno(upload_file(store, &right, DEBUGINFO_FROM_AGENT, PLAIN, &entry, message),
		     -EBADMSG);
	assert_int_equal(debuginfo_find(store, &right, &entry), 0);
	assert_int_equal(count_leftovers(*state), 0);
}

static void wrong_first_bytes_are_refused_at_once(void **state)
{
	static const struct {
		const char *pieces[3];
		const char *says; /* message of the last piece */
	} cases[] = {
		{ { "#!/bin/sh" }, "not an ELF file" },
		{ { "\177", "ELG" }, "not an ELF file" },
		{ { "\177EL", "F\001" }, "not a 64-bit little-endian ELF file" },
		{ { "\177ELF\002", "\002" }, "not a 64-bit little-endian ELF file" },
		{ { "\177E", "LF\002", "\001x" }, NULL },
	};
	scoped(debuginfo_store_freep) struct debuginfo_store *store = open_debuginfo(*state);
	struct executable_id id = sample_identity();
	char message[DEBUGINFO_MESSAGE_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(debuginfo_upload_freep) struct debuginfo_upload *upload = NULL;
		int r = 0;

		assert_ok(
			debuginfo_upload_begin(store, &id, DEBUGINFO_FROM_AGENT, &upload, message));
		for (size_t j = 0; j < ARRAY_SIZE(cases[i].pieces) && cases[i].pieces[j]; j++) {
			assert_ok(r);
			r = debuginfo_upload_append(
				upload,
				(struct bytes_view){ (const uint8_t *)cases[i].pieces[j],
						     strlen(cases[i].pieces[j]) },
				message);
		}
		assert_int_equal(r, cases[i].says ? -EBADMSG : 0);
		if (cases[i].says)
			assert_string_equal(message, cases[i].says);
	}
}

static void a_truncated_file_is_refused(void **state)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store = open_debuginfo(*state);
	struct executable_id id = sample_identity();
	scoped(bytes_release) struct bytes content = {};
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_entry entry;

	read_sample(STRIPPED, &content);
	for (size_t size = 0; size < content.size; size += 97)
		assert_errno(upload_bytes(store, &id, DEBUGINFO_FROM_AGENT,
					  (struct bytes_view){ content.data, size }, MIB, &entry,
					  message),
			     -EBADMSG);
}

static void a_text_identity_is_checked_if_the_file_has_text(void **state)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store = open_debuginfo(*state);
	struct executable_id id = id_of_file(PLAIN);
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_entry entry;
	struct executable_id other = id;

	assert_int_equal(id.kind, EXECUTABLE_ID_TEXT);
	other.bytes[5] ^= 1;
	assert_errno(upload_file(store, &other, DEBUGINFO_FROM_AGENT, PLAIN, &entry, message),
		     -EBADMSG);
	assert_int_equal(upload_file(store, &id, DEBUGINFO_FROM_AGENT, PLAIN, &entry, message), 1);
	/* It has no code, so the sender is trusted. */
	assert_int_equal(upload_file(store, &id, DEBUGINFO_FROM_AGENT, DEBUG, &entry, message), 1);
}

static void rename_section(uint8_t *elf, const char *from, const char *to)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)elf;
	Elf64_Shdr *sections = (Elf64_Shdr *)(elf + header->e_shoff);

	for (size_t i = 0; i < header->e_shnum; i++) {
		char *name =
			(char *)elf + sections[header->e_shstrndx].sh_offset + sections[i].sh_name;

		if (strcmp(name, from) == 0)
			memcpy(name, to, strlen(to) + 1);
		else if (strcmp(name, ".dynsym") == 0)
			sections[i].sh_size = sizeof(Elf64_Sym); /* only the null symbol */
	}
}

/* The Go table, MiniDebugInfo and .eh_frame of a program without other symbols. */
static void tables_within_an_executable_rank_below_symbols(void **state)
{
	static const struct {
		const char *section;
		const char *renamed;
	} cases[] = {
		{ ".eh_frame_hdr", ".gopclntab" },
		{ ".gnu.version_r", ".gnu_debugdata" },
		{ ".eh_frame_hdr", ".only_frames" },
		{ ".eh_frame", ".no_frame" },
	};
	struct executable_id id = sample_identity();
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_entry entry;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(debuginfo_store_freep) struct debuginfo_store *store =
			open_debuginfo(*state);
		scoped(bytes_release) struct bytes content = {};
		bool known = strcmp(cases[i].renamed, ".no_frame") != 0;

		read_sample(STRIPPED, &content);
		rename_section(content.data, cases[i].section, cases[i].renamed);
		assert_int_equal(upload_bytes(store, &id, DEBUGINFO_FROM_AGENT,
					      bytes_view_of(&content), MIB, &entry, message),
				 known ? 1 : -EBADMSG);
		assert_int_equal(strstr(message, "neither symbols") == NULL, known);
		assert_int_equal(debuginfo_find(store, &id, &entry), known);
		if (known)
			assert_int_equal(entry.richness, DEBUGINFO_EMBEDDED);
		assert_int_equal(
			upload_file(store, &id, DEBUGINFO_FROM_AGENT, STRIPPED, &entry, message),
			1);
		assert_int_equal(debuginfo_find(store, &id, &entry), 1);
		assert_int_equal(entry.richness, DEBUGINFO_SYMBOLS);
		assert_int_equal(debuginfo_remove(store, &id), 1);
	}
}

static void code_without_names_is_accepted_from_a_pipeline_only(void **state)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store = open_debuginfo(*state);
	scoped(bytes_release) struct bytes content = {};
	struct executable_id id = sample_identity();
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_entry entry;

	read_sample(STRIPPED, &content);
	rename_section(content.data, ".eh_frame", ".no_frame");
	assert_errno(upload_bytes(store, &id, DEBUGINFO_FROM_AGENT, bytes_view_of(&content), MIB,
				  &entry, message),
		     -EBADMSG);
	assert_int_equal(upload_bytes(store, &id, DEBUGINFO_FROM_PIPELINE, bytes_view_of(&content),
				      MIB, &entry, message),
			 1);
	assert_int_equal(debuginfo_find(store, &id, &entry), 0);
}

static void better_files_replace_poorer_ones_and_not_vice_versa(void **state)
{
	static const struct {
		enum debuginfo_origin origin;
		const char *path;
		int r;
		enum debuginfo_origin best_origin;
		enum debuginfo_richness best;
		size_t n_files;
	} steps[] = {
		{ DEBUGINFO_FROM_AGENT, STRIPPED, 1, DEBUGINFO_FROM_AGENT, DEBUGINFO_SYMBOLS, 1 },
		{ DEBUGINFO_FROM_AGENT, STRIPPED, 0, DEBUGINFO_FROM_AGENT, DEBUGINFO_SYMBOLS, 1 },
		{ DEBUGINFO_FROM_AGENT, FULL, 1, DEBUGINFO_FROM_AGENT, DEBUGINFO_DWARF, 1 },
		{ DEBUGINFO_FROM_AGENT, STRIPPED, 0, DEBUGINFO_FROM_AGENT, DEBUGINFO_DWARF, 1 },
		/* The pipeline is trusted more, but the agent's richer file is kept too. */
		{ DEBUGINFO_FROM_PIPELINE, STRIPPED, 1, DEBUGINFO_FROM_PIPELINE, DEBUGINFO_SYMBOLS,
		  2 },
		{ DEBUGINFO_FROM_AGENT, FULL, 0, DEBUGINFO_FROM_PIPELINE, DEBUGINFO_SYMBOLS, 2 },
		/* It replaces the agent's file; the stripped file remains the executable. */
		{ DEBUGINFO_FROM_PIPELINE, DEBUG, 1, DEBUGINFO_FROM_PIPELINE, DEBUGINFO_DWARF, 2 },
		{ DEBUGINFO_FROM_PIPELINE, STRIPPED, 0, DEBUGINFO_FROM_PIPELINE, DEBUGINFO_DWARF,
		  2 },
		{ DEBUGINFO_FROM_UPSTREAM, FULL, 0, DEBUGINFO_FROM_PIPELINE, DEBUGINFO_DWARF, 2 },
		/* The stored two files have all that it has. */
		{ DEBUGINFO_FROM_PIPELINE, FULL, 0, DEBUGINFO_FROM_PIPELINE, DEBUGINFO_DWARF, 2 },
	};
	scoped(debuginfo_store_freep) struct debuginfo_store *store = open_debuginfo(*state);
	struct executable_id id = sample_identity();

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		uint64_t generation = debuginfo_generation(store);
		scoped(arena_freep) struct arena *arena = NULL;
		struct debuginfo_entry entry, *entries;
		char message[DEBUGINFO_MESSAGE_SIZE];
		size_t count;

		assert_int_equal(
			upload_file(store, &id, steps[i].origin, steps[i].path, &entry, message),
			steps[i].r);
		assert_int_equal(debuginfo_find(store, &id, &entry), 1);
		assert_int_equal(entry.origin, steps[i].best_origin);
		assert_int_equal(entry.richness, steps[i].best);
		assert_ok(arena_new(MIB, &arena));
		assert_ok(debuginfo_list(store, arena, &entries, &count));
		assert_int_equal(count, steps[i].n_files);
		assert_true(debuginfo_generation(store) > generation || steps[i].r == 0);
		assert_true(message[0] != '\0' || steps[i].r == 1);
	}
}

static void small_files_expand_in_memory_and_large_ones_on_disk(void **state)
{
	static const struct {
		size_t size;
		bool in_memory;
	} cases[] = { { 0, true }, { 65 * MIB, false } };
	scoped(debuginfo_store_freep) struct debuginfo_store *store = open_debuginfo(*state);
	struct executable_id id = sample_identity();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes content = {};
		char message[DEBUGINFO_MESSAGE_SIZE];
		char link[64], target[128] = "";
		struct debuginfo_entry entry;
		scoped_fd int fd = -1;

		read_sample(FULL, &content);
		if (content.size < cases[i].size) {
			assert_ok(bytes_reserve(&content, cases[i].size - content.size));
			memset(content.data + content.size, 0, cases[i].size - content.size);
			content.size = cases[i].size;
		}
		assert_int_equal(upload_bytes(store, &id, DEBUGINFO_FROM_PIPELINE,
					      bytes_view_of(&content), MIB, &entry, message),
				 1);
		assert_int_equal(debuginfo_open_file(store, &id, &fd, &entry), 1);
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		assert_true(readlink(link, target, sizeof(target) - 1) > 0);
		assert_int_equal(strncmp(target, "/memfd:", 7) == 0, cases[i].in_memory);
		assert_int_equal(debuginfo_remove(store, &id), 1);
	}
}

static void a_removed_file_is_not_found_and_its_id_is_not_used_again(void **state)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store = open_debuginfo(*state);
	struct executable_id id = sample_identity();
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_entry entry;
	uint64_t generation, generation_of_file;
	int fd = -1;

	assert_int_equal(debuginfo_remove(store, &id), 0);
	assert_int_equal(upload_file(store, &id, DEBUGINFO_FROM_PIPELINE, FULL, &entry, message),
			 1);
	generation = debuginfo_generation(store);
	generation_of_file = entry.generation;
	assert_int_equal(debuginfo_remove(store, &id), 1);
	assert_true(debuginfo_generation(store) > generation);
	assert_int_equal(debuginfo_find(store, &id, &entry), 0);
	assert_int_equal(debuginfo_open_file(store, &id, &fd, &entry), 0);
	assert_int_equal(upload_file(store, &id, DEBUGINFO_FROM_PIPELINE, FULL, &entry, message),
			 1);
	assert_true(entry.generation != generation_of_file);
}

static void reading_updates_the_last_use(void **state)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store = open_debuginfo(*state);
	struct executable_id id = sample_identity();
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_entry entry;
	scoped_fd int fd = -1;

	assert_int_equal(upload_file(store, &id, DEBUGINFO_FROM_AGENT, FULL, &entry, message), 1);
	assert_int_equal(entry.last_used_wall_ns, 0);
	assert_int_equal(debuginfo_open_file(store, &id, &fd, &entry), 1);
	assert_int_equal(debuginfo_find(store, &id, &entry), 1);
	assert_true(entry.last_used_wall_ns >= entry.uploaded_wall_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(uploaded_files_are_read_back),
		in_folder(a_system_binary_is_accepted),
		in_folder(content_of_many_chunks_survives_a_restart),
		in_folder(files_of_other_identities_or_formats_are_refused),
		in_folder(wrong_first_bytes_are_refused_at_once),
		in_folder(a_truncated_file_is_refused),
		in_folder(a_text_identity_is_checked_if_the_file_has_text),
		in_folder(better_files_replace_poorer_ones_and_not_vice_versa),
		in_folder(tables_within_an_executable_rank_below_symbols),
		in_folder(code_without_names_is_accepted_from_a_pipeline_only),
		in_folder(small_files_expand_in_memory_and_large_ones_on_disk),
		in_folder(a_removed_file_is_not_found_and_its_id_is_not_used_again),
		in_folder(reading_updates_the_last_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
