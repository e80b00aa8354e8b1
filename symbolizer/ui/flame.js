/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Draws the flame graph on one canvas of the size of the viewport, in a scroller of the height of the graph.
 *
 * Only visible frames are visited. A frame narrower than a pixel ends the walk over its siblings, because siblings are
 * sorted by falling total; the skipped ones are drawn as one pale block. The view is a window [left, right) in the unit of
 * the values, and zooming moves that window.
 */

import { colourOf } from "./columns.js";
import { APPEARED, BOTH, changeText, isDifference, stateOf, stepOf, STEPS } from "./difference.js";
import { shortName } from "./format.js";

export const ROW_HEIGHT = 21;
const FONT = '12px ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const NARROWEST = 0.75; /* pixels; narrower frames are drawn as one block */
const NARROWEST_REVEALED = 4;
const NARROWEST_TEXT = 26;
const TEXT_PADDING = 5;
const ZOOM_MS = 160;
const SHADES = 8; /* per kind, so that adjacent frames differ */
const ROWS_ABOVE_ZOOM = 3;
const NARROWEST_MARK = 8;
const STRIPE_DISTANCE = 5; /* pixels */

export class FlameView {
	/* @events: {hover(node, event), leave(), zoom(node), select(node)} */
	constructor(scroller, canvas, heightElement, events) {
		this.scroller = scroller;
		this.canvas = canvas;
		this.context = canvas.getContext("2d", { alpha: false });
		this.heightElement = heightElement;
		this.events = events;
		this.tree = null;
		this.zoomed = 0;
		this.selected = -1;
		this.hovered = -1;
		this.matches = null;
		this.left = 0;
		this.right = 1;
		this.names = [];
		this.charWidths = new Map();
		this.pending = 0;
		this.isAbsolute = false;

		this.readColours();
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
			this.readColours();
			this.redraw();
		});
		new ResizeObserver(() => this.resize()).observe(scroller);
		scroller.addEventListener("scroll", () => this.redraw());
		canvas.addEventListener("mousemove", (event) => this.pointerMoved(event));
		canvas.addEventListener("mouseleave", () => this.hover(-1, null));
		canvas.addEventListener("click", (event) => this.clicked(event));
		scroller.addEventListener("keydown", (event) => this.keyPressed(event));
	}

	/* Reads the colours of the theme from the custom properties of the style sheet. */
	readColours() {
		const style = getComputedStyle(document.documentElement);
		const shade = (type, index) => {
			const [light, chroma, hue] = style.getPropertyValue(`--kind-${type}`).trim().split(/\s+/).map(Number);
			const step = index / (SHADES - 1) - 0.5;
			return `oklch(${light + 0.05 * step} ${chroma} ${hue + 22 * step})`;
		};
		const property = (name) => style.getPropertyValue(name).trim();
		const types = { A: "app", L: "library", K: "kernel", C: "cuda", O: "object", T: "thread", P: "thread", H: "thread",
			"?": "unresolved" };

		this.shades = {};
		for (const [letter, name] of Object.entries(types))
			this.shades[letter] = Array.from({ length: SHADES }, (_, index) => shade(name, index));
		this.changes = Array.from({ length: 2 * STEPS + 1 }, (_, index) => property(changeProperty(index - STEPS)));
		this.colours = { paper: property("--paper"), text: property("--frame-text"), match: property("--match"),
			matchText: property("--match-text"), rest: property("--rest"), outline: property("--outline") };
	}

	/* Shows another tree, zoomed to @node. */
	setTree(tree, node) {
		this.tree = tree;
		this.names = tree ? tree.names.map((name, i) => shortName(name, tree.types[i])) : [];
		this.shadeOf = Uint8Array.from(this.names, hashOf);
		this.matches = null;
		this.selected = this.hovered = -1;
		this.zoomed = node;
		if (tree)
			[this.left, this.right] = this.windowOf(node);
		this.resize();
	}

	/* Highlights the functions in @matches of matchFunctions(); null: no search. */
	setMatches(matches) {
		this.matches = matches;
		this.redraw();
	}

	zoomTo(node) {
		this.zoomed = node;
		this.updateHeight();
		this.revealRow(node);
		this.animate(...this.windowOf(node));
	}

	select(node) {
		this.selected = node;
		if (node >= 0) {
			this.revealRow(node);
			this.events.select(node);
		}
		this.redraw();
	}

	/* Zooms to @node if it is too narrow to see. */
	reveal(node) {
		if (this.tree.width[node] * this.width / (this.right - this.left) < NARROWEST_REVEALED)
			this.events.zoom(node);
	}

	windowOf(node) {
		const { start, width } = this.tree;
		return [start[node], start[node] + Math.max(width[node], 1)];
	}

	animate(left, right) {
		const [fromLeft, fromRight] = [this.left, this.right];
		const started = performance.now();
		const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
		const step = (now) => {
			const t = still ? 1 : Math.min(1, Math.max(0, (now - started) / ZOOM_MS));
			const eased = 1 - (1 - t) ** 3;
			this.left = fromLeft + (left - fromLeft) * eased;
			this.right = fromRight + (right - fromRight) * eased;
			this.draw();
			this.animation = t < 1 ? requestAnimationFrame(step) : 0;
		};

		cancelAnimationFrame(this.animation);
		this.animation = requestAnimationFrame(step);
	}

	resize() {
		const ratio = devicePixelRatio;

		this.width = this.scroller.clientWidth;
		this.height = this.scroller.clientHeight;
		this.canvas.width = Math.round(this.width * ratio);
		this.canvas.height = Math.round(this.height * ratio);
		this.canvas.style.width = `${this.width}px`;
		this.canvas.style.height = `${this.height}px`;
		this.updateHeight();
		this.draw();
	}

	/* Sets the height of the spacer, so that the scroller reaches the deepest visible frame. */
	updateHeight() {
		let deepest = 0;

		if (this.tree) {
			const [left, right] = this.windowOf(this.zoomed);
			this.walk(left, right, -1, Infinity, (node) => {
				deepest = Math.max(deepest, this.tree.depth[node]);
			}, () => {});
		}
		const rows = this.tree ? deepest + 2 : 0;
		this.heightElement.style.height = `${Math.max(0, rows * ROW_HEIGHT - this.height)}px`;
	}

	revealRow(node) {
		const row = this.tree.depth[node];
		const top = row * ROW_HEIGHT;
		const { scrollTop } = this.scroller;

		if (top < scrollTop || top + 4 * ROW_HEIGHT > scrollTop + this.height)
			this.scroller.scrollTop = Math.max(0, (row - ROWS_ABOVE_ZOOM) * ROW_HEIGHT);
	}

	redraw() {
		if (this.pending || this.animation)
			return;
		this.pending = requestAnimationFrame(() => {
			this.pending = 0;
			this.draw();
		});
	}

	/*
	 * Visits [left, right) in the rows firstRow to lastRow. Calls @frame(node, x, width) for each frame that is wide enough,
	 * and @rest(row, x, width) for each run of narrower siblings and each range that the server pruned.
	 */
	walk(left, right, firstRow, lastRow, frame, rest) {
		const { n, parent, width: span, self, total, start, depth, end, kidsEnd } = this.tree;
		const scale = this.width / (right - left);
		/* A vanished frame has a width, and all of it that no callee has is its self value. */
		const drawnSelf = (node) => total[node] > 0 ? self[node] : start[node] + span[node] - kidsEnd[node];

		for (let i = 0; i < n;) {
			const x = (start[i] - left) * scale;
			const width = span[i] * scale;
			if (depth[i] > lastRow || x + width <= 0) {
				i = end[i];
			} else if (x >= this.width) {
				i = i > 0 ? end[parent[i]] : n;
			} else if (width < NARROWEST && i > 0) {
				const p = parent[i];
				if (depth[i] >= firstRow)
					rest(depth[i], x, (start[p] + span[p] - drawnSelf(p) - start[i]) * scale);
				i = end[p];
			} else {
				const pruned = start[i] + span[i] - drawnSelf(i) - kidsEnd[i];
				if (depth[i] >= firstRow)
					frame(i, x, width);
				if (pruned * scale >= NARROWEST && depth[i] + 1 >= firstRow)
					rest(depth[i] + 1, (kidsEnd[i] - left) * scale, pruned * scale);
				i++;
			}
		}
	}

	draw() {
		const context = this.context;
		const ratio = devicePixelRatio;

		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.globalAlpha = 1;
		context.fillStyle = this.colours.paper;
		context.fillRect(0, 0, this.width, this.height);
		if (!this.tree)
			return;

		context.font = FONT;
		context.textBaseline = "middle";
		const top = this.scroller.scrollTop;
		const firstRow = Math.floor(top / ROW_HEIGHT);
		const lastRow = Math.ceil((top + this.height) / ROW_HEIGHT);
		this.walk(this.left, this.right, firstRow, lastRow,
			(node, x, width) => this.drawFrame(node, x, width, this.tree.depth[node] * ROW_HEIGHT - top),
			(row, x, width) => this.drawRest(x, width, row * ROW_HEIGHT - top));
	}

	drawFrame(node, x, width, y) {
		const context = this.context;
		const fn = this.tree.fn[node];
		const [from, to] = this.pixels(x, width);
		const gap = to - from > 3 ? 1 : 0;
		const matched = this.matches?.[fn];

		context.globalAlpha = this.alphaOf(node, matched);
		context.fillStyle = matched ? this.colours.match : this.fillOf(node, fn);
		context.fillRect(from, y, to - from - gap, ROW_HEIGHT - 1);
		if (isDifference(this.tree) && to - from >= NARROWEST_MARK && stateOf(this.tree, node) !== BOTH)
			this.drawMark(node, from, y, to - from - gap);

		if (to - from >= NARROWEST_TEXT) {
			const text = this.fitText(this.textOf(node, fn), to - from - 2 * TEXT_PADDING);
			context.fillStyle = matched ? this.colours.matchText : this.colours.text;
			context.globalAlpha = Math.max(context.globalAlpha, 0.6);
			context.fillText(text, from + TEXT_PADDING, y + ROW_HEIGHT / 2);
		}
		if (node === this.hovered || node === this.selected)
			this.drawOutline(from, y, to - from - gap);
	}

	fillOf(node, fn) {
		if (!isDifference(this.tree))
			return this.shades[colourOf(this.tree, fn)][this.shadeOf[fn]];
		return this.changes[STEPS + stepOf(this.tree, node, this.isAbsolute)];
	}

	textOf(node, fn) {
		return isDifference(this.tree) ? `${this.names[fn]} ${changeText(this.tree, node, this.isAbsolute)}` : this.names[fn];
	}

	/* A thick edge at the left marks a frame that appeared, stripes one that vanished. */
	drawMark(node, x, y, width) {
		const context = this.context;

		context.fillStyle = this.colours.outline;
		if (stateOf(this.tree, node) === APPEARED) {
			context.fillRect(x, y, 3, ROW_HEIGHT - 1);
			return;
		}
		context.globalAlpha *= 0.35;
		for (let at = x; at < x + width; at += STRIPE_DISTANCE)
			context.fillRect(at, y, 1, ROW_HEIGHT - 1);
		context.globalAlpha /= 0.35;
	}

	/* Sets how a difference is coloured: by values per second, or by shares. */
	compareBy(isAbsolute) {
		this.isAbsolute = isAbsolute;
		this.redraw();
	}

	/* Returns less than 1 for callers of the zoomed frame and, during a search, for frames that do not match. */
	alphaOf(node, matched) {
		const { start, width } = this.tree;
		const z = this.zoomed;
		const isCaller = z > 0 && node < z && this.tree.end[node] >= this.tree.end[z] && start[node] <= start[z] &&
			width[node] >= width[z];

		if (this.matches && !matched)
			return 0.3;
		return isCaller && !matched ? 0.5 : 1;
	}

	drawRest(x, width, y) {
		const [from, to] = this.pixels(x, width);

		if (to <= from)
			return;
		this.context.globalAlpha = this.matches ? 0.5 : 1;
		this.context.fillStyle = this.colours.rest;
		this.context.fillRect(from, y, to - from, ROW_HEIGHT - 1);
	}

	drawOutline(x, y, width) {
		const context = this.context;

		context.globalAlpha = 1;
		context.strokeStyle = this.colours.outline;
		context.lineWidth = 1.5;
		context.strokeRect(x + 0.75, y + 0.75, Math.max(width - 1.5, 1), ROW_HEIGHT - 2.5);
	}

	/* Rounds edges to device pixels, so that adjacent frames neither overlap nor leave a gap. */
	pixels(x, width) {
		const ratio = devicePixelRatio;
		const snap = (value) => Math.round(Math.min(Math.max(value, 0), this.width) * ratio) / ratio;
		return [snap(x), snap(x + width)];
	}

	fitText(text, room) {
		let width = 0;
		let kept = 0; /* characters that fit together with the ellipsis */
		const ellipsis = this.charWidth("…");

		for (let i = 0; i < text.length; i++) {
			width += this.charWidth(text[i]);
			if (width + ellipsis <= room)
				kept = i + 1;
			if (width > room)
				return kept > 1 ? `${text.slice(0, kept)}…` : "";
		}
		return text;
	}

	charWidth(character) {
		let width = this.charWidths.get(character);

		if (width === undefined) {
			width = this.context.measureText(character).width;
			this.charWidths.set(character, width);
		}
		return width;
	}

	/* Returns the node at a position of the canvas; -1: none. */
	nodeAt(x, y) {
		if (!this.tree)
			return -1;

		const { depth, end, start, width } = this.tree;
		const row = Math.floor((y + this.scroller.scrollTop) / ROW_HEIGHT);
		const value = this.left + x / this.width * (this.right - this.left);
		const scale = this.width / (this.right - this.left);
		let node = 0;

		while (depth[node] < row) {
			let child = node + 1;
			while (child < end[node] && start[child] + width[child] <= value)
				child = end[child];
			if (child >= end[node] || start[child] > value || width[child] * scale < NARROWEST)
				return -1;
			node = child;
		}
		return node;
	}

	nodeOf(event) {
		const box = this.canvas.getBoundingClientRect();
		return this.nodeAt(event.clientX - box.left, event.clientY - box.top);
	}

	pointerMoved(event) {
		this.hover(this.nodeOf(event), event);
	}

	hover(node, event) {
		if (node !== this.hovered) {
			this.hovered = node;
			this.canvas.style.cursor = node >= 0 ? "pointer" : "default";
			this.redraw();
		}
		if (node >= 0)
			this.events.hover(node, event);
		else
			this.events.leave();
	}

	clicked(event) {
		const node = this.nodeOf(event);
		const wasSelected = node === this.selected;

		if (node < 0)
			return;
		this.selected = node;
		this.events.select(node);
		/* Touch screens have no hovering: the first tap shows the tooltip, the second zooms. */
		if (event.pointerType === "touch" && !wasSelected) {
			this.hover(node, event);
			this.redraw();
			return;
		}
		this.events.zoom(node);
	}

	keyPressed(event) {
		if (!this.tree || event.ctrlKey || event.metaKey || event.altKey)
			return;

		const from = this.selected >= 0 ? this.selected : this.zoomed;
		const to = this.selected >= 0 ? this.neighbour(from, event.key) : from;
		if (event.key === "Enter" && this.selected >= 0)
			this.events.zoom(this.selected);
		else if (/^Arrow/.test(event.key) && to >= 0)
			this.select(to);
		else if (!/^Arrow/.test(event.key))
			return;
		event.preventDefault();
	}

	/* Returns the target of an arrow key: the largest child, the caller or a sibling; -1: none. */
	neighbour(node, key) {
		const { parent, end } = this.tree;
		const p = parent[node];

		if (key === "ArrowDown")
			return node + 1 < end[node] ? node + 1 : -1;
		if (key === "ArrowUp")
			return p;
		if (key === "ArrowRight")
			return p >= 0 && end[node] < end[p] ? end[node] : -1;
		if (key !== "ArrowLeft" || p < 0 || node === p + 1)
			return -1;
		let sibling = p + 1;
		while (end[sibling] < node)
			sibling = end[sibling];
		return sibling;
	}
}

/* Returns a shade that depends on the first part of the name (module, namespace), so that related frames look alike. */
function hashOf(name) {
	const stem = name.split(/::|[.(<]/, 1)[0];
	let hash = 0x811c9dc5;

	for (let i = 0; i < stem.length; i++)
		hash = Math.imul(hash ^ stem.charCodeAt(i), 0x01000193);
	return ((hash >>> 13) ^ hash) >>> 0 & (SHADES - 1);
}

/* Returns the custom property with the colour of a change of -STEPS to STEPS. */
function changeProperty(step) {
	return step === 0 ? "--change-none" : `--change-${step < 0 ? "less" : "more"}-${Math.abs(step)}`;
}
