// SPDX-License-Identifier: Apache-2.0
/* Flame graphs, from the outermost frame at the top to the innermost: of running code, of waits and
 * of slow calls. */

const FRAMES_AT_ONCE = 4000;
const FRAME_LEAST = 0.001; // of the width: less is not drawn
const FRAME_NAMED = 0.02; // of the width: less has no room for a name
const FRAME_HEIGHT = 1.4; // em

function flameNode(name, parent, kernel) {
	return { name, parent, kernel, ns: 0, children: new Map(), depth: parent ? parent.depth + 1 : 0 };
}

function flameChild(node, name, kernel = false) {
	const key = `${kernel ? "k" : "u"}${name}`;

	if (!node.children.has(key))
		node.children.set(key, flameNode(name, node, kernel));
	return node.children.get(key);
}

/* sums: [row, ns, count] of all rows with the same stacks, also of those that the page does not
 * have; under their threads' names, or all together. */
function flameTree(sums, rows, stacks, byThread) {
	const root = flameNode("all", null, false);

	for (const [at, time] of sums) {
		const ns = numberOf(time), row = rows[at] || OTHERS;
		const user = stacks[row.user_stack] || [], kernel = stacks[row.kernel_stack] || [];
		let node = byThread ? flameChild(root, textOf(row, "name") || "<unknown>") : root;

		for (let i = user.length; i--;)
			node = flameChild(node, user[i]);
		if (row === OTHERS && !byThread)
			node = flameChild(node, OTHERS.name);
		else if (!user.length && kernel.length)
			node = flameChild(node, "[no user stack]");
		for (let i = kernel.length; i--;)
			node = flameChild(node, kernel[i], true);
		for (; node; node = node.parent)
			node.ns += ns;
	}
	return root;
}

/* What has no row. */
const OTHERS = { name: "[others]" };

function flameChildren(node) {
	return [...node.children.values()].sort((a, b) => b.ns - a.ns);
}

function flameMatches(node, text) {
	return text && node.name.toLowerCase().includes(text);
}

/* Time in frames whose name has the text, each stack counted once. */
function flameFound(node, text) {
	if (flameMatches(node, text))
		return node.ns;
	return flameChildren(node).reduce((sum, child) => sum + flameFound(child, text), 0);
}

/* What is drawn when one frame has the whole width: those above it, and those below it. */
function flameLayout(zoomed) {
	const placed = [], queue = [{ node: zoomed, left: 0, width: 1 }];

	for (let node = zoomed.parent; node; node = node.parent)
		placed.unshift({ node, left: 0, width: 1 });
	while (queue.length && placed.length < FRAMES_AT_ONCE) {
		const at = queue.shift();
		let { left } = at;

		placed.push(at);
		for (const child of flameChildren(at.node)) {
			const width = zoomed.ns ? child.ns / zoomed.ns : 0;

			if (width >= FRAME_LEAST)
				queue.push({ node: child, left, width });
			left += width;
		}
	}
	return placed;
}

function flameLabel(node, whole) {
	return `${node.name}${node.kernel ? " (kernel)" : ""}, ${timeText(node.ns)}, ${
		shareText(node.ns, whole)}`;
}

/* The frames of one graph: a tree in which the keys go from frame to frame. */
class Flame {
	constructor(title, status) {
		this.element = el("div", { class: "flame", role: "tree", "aria-label": title });
		Object.assign(this, { status, elements: new Map(), found: "" });
	}

	set(root) {
		this.root = this.zoomed = this.current = root;
		this.draw();
	}

	find(text) {
		this.found = text.trim().toLowerCase();
		this.draw();
		this.status.textContent = this.found ? `${shareText(flameFound(this.root, this.found),
			this.root.ns)} in frames with this name` : "";
	}

	tell(node) {
		this.status.textContent = flameLabel(node, this.root.ns);
	}

	focus(node) {
		if (!this.elements.has(node))
			return;
		this.elements.get(this.current)?.setAttribute("tabindex", "-1");
		this.current = node;
		this.elements.get(node).setAttribute("tabindex", "0");
		this.elements.get(node).focus();
	}

	zoom(node) {
		this.zoomed = node;
		this.draw();
		this.focus(node);
	}

	key(event, node) {
		const siblings = node.parent ? flameChildren(node.parent) : [node];
		const at = siblings.indexOf(node);
		const to = { ArrowUp: node.parent, ArrowDown: flameChildren(node)[0],
			     ArrowLeft: siblings[at - 1], ArrowRight: siblings[at + 1], Home: this.root };

		if (event.key === "Enter" || event.key === " ")
			this.zoom(node);
		else if (event.key === "Escape")
			this.zoom(this.root);
		else if (event.key in to)
			this.focus(to[event.key] || node);
		else
			return;
		event.preventDefault();
	}

	frame({ node, left, width }) {
		const classes = ["frame", node.kernel && "kernel", flameMatches(node, this.found) && "found"];
		const element = el("div", {
			class: classes.filter(Boolean).join(" "), role: "treeitem", tabindex: -1,
			"aria-level": node.depth + 1, "aria-label": flameLabel(node, this.root.ns),
			onclick: () => this.zoom(node), onkeydown: (event) => this.key(event, node),
			onfocus: () => this.tell(node), onpointerenter: () => this.tell(node),
		}, width > FRAME_NAMED ? node.name : "");

		this.elements.set(node, element);
		return styled(element, { left: `${left * 100}%`, width: `${width * 100}%`,
					 top: `${node.depth * FRAME_HEIGHT}em` });
	}

	draw() {
		const placed = flameLayout(this.zoomed);
		const depth = placed.reduce((most, { node }) => Math.max(most, node.depth), 0);

		this.elements.clear();
		this.element.replaceChildren(...placed.map((at) => this.frame(at)));
		styled(this.element, { height: `${(depth + 1) * FRAME_HEIGHT}em` });
		if (!this.elements.has(this.current))
			this.current = this.zoomed;
		this.elements.get(this.current).setAttribute("tabindex", "0");
	}
}

function flameView(title, sums, rows, { stacks }) {
	const cases = sums.reduce((sum, [,, count]) => sum + numberOf(count), 0);
	const status = el("p", { role: "status", class: "told" }), flame = new Flame(title, status);

	flame.set(flameTree(sums, rows, stacks, false));
	return el("figure", { class: "flames" },
		el("figcaption", {}, `${title}: ${timeText(flame.root.ns)} in ${grouped(cases)} ${
			cases === 1 ? "case" : "cases"}`),
		el("p", { class: "tools" },
		   el("label", {}, el("input", { type: "checkbox", onchange: (event) =>
			   flame.set(flameTree(sums, rows, stacks, event.target.checked)) }), "by thread "),
		   el("label", {}, "Find ", el("input", { type: "search", autocomplete: "off",
			   oninput: (event) => flame.find(event.target.value) })),
		   el("button", { type: "button", onclick: () => flame.zoom(flame.root) }, "Whole")),
		flame.element, status);
}

function hasStack(row) {
	return "user_stack" in row || "kernel_stack" in row;
}

function flamesView(context) {
	const { sample: { traces = {} }, reading } = context;

	return [["Running code", "samples"], ["Waits", "waits"], ["Slow system calls", "syscalls"]]
		.filter(([, key]) => traces[key]?.some(hasStack))
		.map(([title, key]) => flameView(title, reading.stacks[key], traces[key], context));
}
