// SPDX-License-Identifier: Apache-2.0
/* Flame graphs, from the outermost frame at the top to the innermost: of waits, of running code and
 * of slow calls. */

const FRAMES_AT_ONCE = 4000;
const FRAME_LEAST = 0.001; // of the width: less is not drawn

function flameNode(name, parent, kernel) {
	return { name, parent, kernel, ns: 0, count: 0, children: new Map(),
		 depth: parent ? parent.depth + 1 : 0 };
}

function flameChild(node, name, kernel = false) {
	const key = `${kernel ? "k" : "u"}${name}`;

	if (!node.children.has(key))
		node.children.set(key, flameNode(name, node, kernel));
	return node.children.get(key);
}

/* rows of traces, by their threads' names, or all together. */
function flameTree(rows, stacks, byThread) {
	const root = flameNode("all", null, false);

	for (const row of rows) {
		const ns = numberOf(row.duration_ns) || 0;
		const user = stacks[row.user_stack]?.frames || [], kernel = stacks[row.kernel_stack]?.frames || [];
		let node = byThread ? flameChild(root, textOf(row, "name") || "<unknown>") : root;

		for (const frame of user.toReversed())
			node = flameChild(node, frameText(frame));
		if (!user.length && kernel.length)
			node = flameChild(node, "[no user stack]");
		for (const frame of kernel.toReversed())
			node = flameChild(node, frameText(frame), true);
		for (node.count++; node; node = node.parent)
			node.ns += ns;
	}
	return root;
}

function flameChildren(node) {
	return [...node.children.values()].sort((a, b) => b.ns - a.ns);
}

/* Time in frames whose name has the text, each stack counted once. */
function flameFound(node, text) {
	if (node.name.toLowerCase().includes(text))
		return node.ns;
	return flameChildren(node).reduce((sum, child) => sum + flameFound(child, text), 0);
}

/* What is drawn when one frame has the whole width: those above it, and those below it. */
function flameLayout(zoomed) {
	const placed = [], queue = [];

	for (let node = zoomed.parent; node; node = node.parent)
		placed.unshift({ node, left: 0, width: 1 });
	queue.push({ node: zoomed, left: 0, width: 1 });
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
	return `${node.name}${node.kernel ? " (kernel)" : ""}, ${timeText(node.ns)}, ${shareText(node.ns, whole)}`;
}

/* The keys go from frame to frame; one of them is in the order of tabs. */
function flameView(title, rows, context) {
	const status = el("p", { role: "status", class: "told" });
	const tree = el("div", { class: "flame", role: "tree", "aria-label": title });
	const elements = new Map();
	let root = flameTree(rows, context.stacks, false), zoomed = root, current = root, found = "";

	function tell(node) {
		status.textContent = node ? flameLabel(node, root.ns) : "";
	}

	function focus(node) {
		if (!elements.has(node))
			return;
		elements.get(current)?.setAttribute("tabindex", "-1");
		current = node;
		elements.get(node).setAttribute("tabindex", "0");
		elements.get(node).focus();
	}

	function zoom(node) {
		zoomed = node;
		draw();
		focus(node);
	}

	function key(event, node) {
		const siblings = node.parent ? flameChildren(node.parent) : [node], at = siblings.indexOf(node);
		const to = { ArrowUp: node.parent, ArrowDown: flameChildren(node)[0],
			     ArrowLeft: siblings[at - 1], ArrowRight: siblings[at + 1], Home: root };

		if (event.key === "Enter" || event.key === " ")
			zoom(node);
		else if (event.key === "Escape")
			zoom(root);
		else if (event.key in to)
			focus(to[event.key] || node);
		else
			return;
		event.preventDefault();
	}

	function draw() {
		const placed = flameLayout(zoomed);

		elements.clear();
		tree.replaceChildren(...placed.map(({ node, left, width }) => {
			const label = flameLabel(node, root.ns);
			const frame = el("div", {
				class: `frame${node.kernel ? " kernel" : ""}${found && node.name.toLowerCase().includes(found)
					? " found" : ""}`,
				role: "treeitem", tabindex: -1, "aria-level": node.depth + 1, "aria-label": label,
				onclick: () => zoom(node), onkeydown: (event) => key(event, node),
				onfocus: () => tell(node), onpointerenter: () => tell(node) },
				width > 0.02 ? node.name : "");

			elements.set(node, frame);
			return styled(frame, { left: `${left * 100}%`, width: `${width * 100}%`,
					       top: `${node.depth * 1.4}em` });
		}));
		styled(tree, { height: `${(Math.max(...placed.map(({ node }) => node.depth)) + 1) * 1.4}em` });
		current = elements.has(current) ? current : zoomed;
		elements.get(current).setAttribute("tabindex", "0");
	}

	draw();
	return el("figure", { class: "flames" }, el("figcaption", {}, `${title}: ${timeText(root.ns)} in ${
			grouped(rows.length)} ${rows.length === 1 ? "case" : "cases"}`),
		el("p", { class: "tools" },
		   el("label", {}, el("input", { type: "checkbox", onchange: (event) => {
			root = zoomed = current = flameTree(rows, context.stacks, event.target.checked);
			draw();
		   } }), "by thread "),
		   el("label", {}, "Find ", el("input", { type: "search", autocomplete: "off", oninput: (event) => {
			found = event.target.value.trim().toLowerCase();
			draw();
			status.textContent = found ? `${shareText(flameFound(root, found), root.ns)} in frames with this name` : "";
		   } })),
		   el("button", { type: "button", onclick: () => zoom(root) }, "Whole")),
		tree, status);
}

function flamesView(context) {
	const { traces } = context.sample;
	const graphs = [["Running code", traces?.samples], ["Waits", traces?.waits], ["Slow system calls", traces?.syscalls]];

	return graphs.filter(([, rows]) => rows?.length && rows.some((row) => "user_stack" in row || "kernel_stack" in row))
		.map(([title, rows]) => flameView(title, rows, context));
}
