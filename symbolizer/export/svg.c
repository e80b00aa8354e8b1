/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg: a flame graph with callers above and callees below, as a file that loads nothing. svg.js is
 * its script. Frames narrower than a tenth of a pixel are left out, so that a file has at most
 * 12000 frames a row.
 */

#include <inttypes.h>
#include <string.h>

#include "common/vec.h"
#include "symbolizer/export/frame_text.h"
#include "symbolizer/flame/label.h"
#include "symbolizer/query/profile_message.h"

#define WIDTH_PX        1200.0
#define ROW_PX          17
#define HEAD_PX         46 /* title and details above the graph */
#define FOOT_PX         8
#define MIN_FRAME_PX    0.1
#define CHARACTER_PX    7.25 /* of the monospace font with 12 px */
#define MIN_CHARACTERS  3
#define SHADES          6
#define MAX_TITLE_BYTES (64 * KIB)

/* Copies the script into .rodata. */
__asm__(".pushsection .rodata, \"a\", @progbits\n"
	".local svg_script\nsvg_script:\n"
	".incbin \"" EXPORT_FOLDER "/svg.js\"\n"
	".local svg_script_end\nsvg_script_end:\n"
	".byte 0\n"
	".popsection\n");
extern const char svg_script[] __attribute__((visibility("hidden")));
extern const char svg_script_end[] __attribute__((visibility("hidden")));

VEC_DEFINE(start_vec, uint64_t);

struct svg_writer {
	const struct export_tree *input;
	struct bytes *out;
	uint64_t whole;
	uint32_t deepest;
	struct start_vec next; /* for each open node: where its next child begins */
};

/* Appends text that has no control characters. U+FFFE and U+FFFF are no characters of XML. */
static void append_escaped(struct bytes *out, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		const char *escaped = NULL;

		switch (text[i]) {
		case '&':
			escaped = "&amp;";
			break;
		case '<':
			escaped = "&lt;";
			break;
		case '>':
			escaped = "&gt;";
			break;
		case '"':
			escaped = "&quot;";
			break;
		default:
			break;
		}
		if (escaped)
			(void)bytes_append_text(out, escaped);
		else if (i + 2 < length && (memcmp(text + i, "\xef\xbf\xbe", 3) == 0 ||
					    memcmp(text + i, "\xef\xbf\xbf", 3) == 0))
			(void)bytes_append_text(out, "\xef\xbf\xbd"), i += 2;
		else
			(void)bytes_append_byte(out, (uint8_t)text[i]);
	}
}

/* Appends text with any bytes. */
static void append_any(struct bytes *out, const char *text)
{
	scoped(bytes_release) struct bytes clean = BYTES_INIT(MAX_TITLE_BYTES);

	if (label_append(&clean, text, strlen(text)) == 0)
		append_escaped(out, (const char *)clean.data, clean.size);
}

struct scale {
	const char *unit; /* of values */
	double size;
	const char *name;
};

/* Appends "12.3 s", "1.50 MiB", "1234 events". */
static void append_value(struct bytes *out, const struct event_type_info *event, uint64_t value)
{
	static const struct scale scales[] = {
		{ "ns", 1e9, "s" },
		{ "ns", 1e6, "ms" },
		{ "ns", 1e3, "\xc2\xb5s" },
		{ "bytes", (double)GIB, "GiB" },
		{ "bytes", (double)MIB, "MiB" },
		{ "bytes", (double)KIB, "KiB" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(scales); i++) {
		if (strcmp(scales[i].unit, event->unit) != 0 || (double)value < scales[i].size)
			continue;
		(void)bytes_append_format(out, "%.3g %s", (double)value / scales[i].size,
					  scales[i].name);
		return;
	}
	(void)bytes_append_format(out, "%" PRIu64 " ", value);
	append_any(out, event->unit);
}

/* The names of the functions of a module or a class have the same shade. */
static unsigned int shade_of(const char *label)
{
	size_t length = strcspn(label, ":.(<");
	uint32_t hash = 0x811c9dc5;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)label[i]) * 0x01000193;
	return (hash >> 13 ^ hash) % SHADES;
}

static size_t characters_of(const char *text, size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += ((uint8_t)text[i] & 0xc0) != 0x80;
	return count;
}

/* Appends as much of a label as fits, as svg.js does after a zoom. */
static void append_fitting(struct bytes *out, const char *label, size_t length, double width_px)
{
	const double room_px = (width_px - 6) / CHARACTER_PX;
	const size_t room = room_px > 0 ? (size_t)room_px : 0;
	size_t kept = 0, count = 0;

	if (room < MIN_CHARACTERS)
		return;
	if (characters_of(label, length) <= room) {
		append_escaped(out, label, length);
		return;
	}
	for (; kept < length; kept++) {
		if (((uint8_t)label[kept] & 0xc0) != 0x80 && ++count == room)
			break;
	}
	append_escaped(out, label, kept);
	(void)bytes_append_text(out, "\xe2\x80\xa6");
}

static double pixels(const struct svg_writer *writer, uint64_t value)
{
	return WIDTH_PX * (double)value / (double)writer->whole;
}

static void append_frame(struct svg_writer *writer, uint32_t node, uint64_t start, uint32_t depth)
{
	const struct tree *tree = writer->input->tree;
	uint32_t n_nodes;
	const struct tree_node *of = &tree_nodes(tree, &n_nodes)[node];
	const char *label = tree_label(tree, node);
	const size_t length = tree_label_length(tree, node);
	const double x = pixels(writer, start), width = pixels(writer, of->total);
	const uint32_t y = HEAD_PX + depth * ROW_PX;
	struct bytes *out = writer->out;

	(void)bytes_append_format(out, "<g class=\"f %s%u\"><title>",
				  of->type == '?' ? "U" : (char[]){ of->type, '\0' },
				  shade_of(label));
	append_escaped(out, label, length);
	(void)bytes_append_byte(out, '\n');
	append_value(out, writer->input->selection->event, of->total);
	(void)bytes_append_format(out, ", %.2f %%",
				  100.0 * (double)of->total / (double)writer->whole);
	if (of->self > 0 && of->self < of->total) {
		(void)bytes_append_text(out, ", self ");
		append_value(out, writer->input->selection->event, of->self);
	}
	(void)bytes_append_format(out,
				  "</title><rect x=\"%.3f\" y=\"%u\" width=\"%.3f\" "
				  "height=\"%u\"/><text x=\"%.3f\" y=\"%u\">",
				  x, y, width, ROW_PX - 1, x + 3, y + ROW_PX - 5);
	append_fitting(out, label, length, width);
	(void)bytes_append_text(out, "</text></g>\n");
}

static int enter(void *arg, const struct tree *tree, uint32_t node)
{
	struct svg_writer *writer = arg;
	const uint32_t depth = (uint32_t)writer->next.count;
	uint32_t n_nodes;
	const struct tree_node *nodes = tree_nodes(tree, &n_nodes);
	uint64_t start = 0;

	if (depth > 0) {
		start = writer->next.items[depth - 1];
		writer->next.items[depth - 1] += nodes[node].total;
	}
	if (pixels(writer, nodes[node].total) >= MIN_FRAME_PX) {
		append_frame(writer, node, start, depth);
		writer->deepest = MAX(writer->deepest, depth);
	}
	return bytes_error(writer->out) < 0 ? bytes_error(writer->out)
					    : vec_push(&writer->next, start);
}

static void leave(void *arg, const struct tree *tree, uint32_t node)
{
	struct svg_writer *writer = arg;

	(void)tree;
	(void)node;
	writer->next.count--;
}

/* Colours of the types of functions: hue, saturation, lightness. */
static void append_colours(struct bytes *out)
{
	static const struct {
		const char *type;
		unsigned int hue, saturation, lightness;
	} types[] = {
		{ "A", 26, 86, 72 }, { "L", 165, 38, 72 }, { "K", 230, 52, 80 },
		{ "C", 92, 52, 70 }, { "O", 330, 52, 80 }, { "T", 40, 12, 84 },
		{ "P", 40, 12, 84 }, { "H", 40, 12, 84 },  { "U", 40, 3, 78 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		for (unsigned int k = 0; k < SHADES; k++)
			(void)bytes_append_format(out, ".%s%u rect{fill:hsl(%u,%u%%,%u%%)}\n",
						  types[i].type, k, types[i].hue + 3 * k,
						  types[i].saturation, types[i].lightness + k);
}

static void append_style(struct bytes *out)
{
	(void)bytes_append_text(
		out,
		"<style>\n"
		"svg{background:#fff;font:12px ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\","
		"monospace}\n"
		"text{fill:#1c1917;pointer-events:none;white-space:pre}\n"
		"#name{font-size:14px;font-weight:bold}\n"
		".f{cursor:pointer}\n"
		".f:hover rect{stroke:#1c1917}\n"
		".button{display:none;pointer-events:all;cursor:pointer;fill:#1d4ed8}\n"
		".scripted .button{display:inline}\n");
	append_colours(out);
	(void)bytes_append_text(out, ".caller{opacity:.6}\n"
				     ".match rect{fill:#d946ef}\n"
				     "</style>\n");
}

/* Writes what the file shows: service, event type, total, time and filter. */
static void append_title(const struct svg_writer *writer)
{
	const struct export_selection *selection = writer->input->selection;
	char since[PROFILE_TIME_TEXT_SIZE], until[PROFILE_TIME_TEXT_SIZE];
	struct bytes *out = writer->out;

	append_escaped(out, tree_label(writer->input->tree, 0),
		       tree_label_length(writer->input->tree, 0));
	(void)bytes_append_text(out, ", ");
	append_any(out, selection->event->name);
	(void)bytes_append_text(out, ": ");
	append_value(out, selection->event, writer->whole);
	(void)bytes_append_format(out, ", %s to %s",
				  profile_message_time(selection->since_wall_ns / SLOT_NS, since),
				  profile_message_time(selection->until_wall_ns / SLOT_NS, until));
	if (selection->filter && selection->filter[0]) {
		(void)bytes_append_text(out, ", ");
		append_any(out, selection->filter);
	}
}

static void append_head(const struct svg_writer *writer, uint32_t deepest)
{
	const uint32_t height = HEAD_PX + (deepest + 1) * ROW_PX + FOOT_PX;
	struct bytes *out = writer->out;

	(void)bytes_append_format(out,
				  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
				  "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" "
				  "width=\"%.0f\" height=\"%u\" viewBox=\"0 0 %.0f %u\">\n<title>",
				  WIDTH_PX, height, WIDTH_PX, height);
	append_title(writer);
	(void)bytes_append_text(out, "</title>\n<desc>");
	append_any(out, writer->input->result->message);
	(void)bytes_append_text(out, "</desc>\n");
	append_style(out);
	(void)bytes_append_text(out, "<text id=\"name\" x=\"3\" y=\"17\">");
	append_title(writer);
	(void)bytes_append_format(
		out,
		"</text>\n<text id=\"details\" x=\"3\" y=\"37\"></text>\n"
		"<text id=\"matched\" x=\"%.0f\" y=\"37\" text-anchor=\"end\"></text>\n"
		"<text id=\"reset\" class=\"button\" x=\"%.0f\" y=\"17\" style=\"display:none\" "
		"text-anchor=\"end\">Reset zoom</text>\n"
		"<text id=\"search\" class=\"button\" x=\"%.0f\" y=\"17\" text-anchor=\"end\">"
		"Search</text>\n",
		WIDTH_PX - 3, WIDTH_PX - 60, WIDTH_PX - 3);
}

/* The head contains the height, which is known when the frames are written. */
static int write_file(struct svg_writer *writer, struct bytes *frames, struct bytes *out)
{
	const struct tree_visitor visitor = { .enter = enter, .leave = leave, .arg = writer };
	int r;

	writer->out = frames;
	r = tree_walk(writer->input->tree, &visitor);
	if (r < 0)
		return r;
	writer->out = out;
	append_head(writer, writer->deepest);
	(void)bytes_append(out, frames->data, frames->size);
	(void)bytes_append_text(out, "<script><![CDATA[\n");
	(void)bytes_append(out, svg_script, (size_t)(svg_script_end - svg_script));
	return bytes_append_text(out, "]]></script>\n</svg>\n");
}

static int svg_write_tree(const struct export_tree *input, struct bytes *out)
{
	scoped(bytes_release) struct bytes frames = BYTES_INIT(out->ceiling);
	struct svg_writer writer = { .input = input };
	uint32_t n_nodes;
	int r;

	frames.budget = out->budget;
	writer.whole = MAX(tree_nodes(input->tree, &n_nodes)[0].total, (uint64_t)1);
	r = write_file(&writer, &frames, out);
	vec_release(&writer.next);
	return r;
}

const struct export_writer export_svg = { .write_tree = svg_write_tree };
