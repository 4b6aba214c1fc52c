// SPDX-License-Identifier: Apache-2.0
/* What has times of its own, on a line for each thread: slow calls, waits and interruptions. */

const KINDS = ["wait", "call", "interruption"]; // from the top of a thread's line downwards
const GUTTER = 170, LANE = 20, AXIS = 22; // pixels

/* [{ kind, tid, name, state, from, to, text }], times from the window's start on, in ns. */
function timelineItems(context) {
	const { sample, start } = context, end = context.length;
	const items = [];
	const add = (kind, row, from, to, state, text) => items.push({
		kind, tid: row.tid, name: whoText(row), state,
		from: Math.max(0, from - start), to: Math.min(end, to - start), text });

	for (const row of sample.traces?.waits || [])
		add("wait", row, numberOf(row.start_ns), numberOf(row.end_ns ?? sample.window.end_ns),
		    row.state, `${context.words.states[row.state] || "waited"}${row.waited_for
			    ? `, for ${context.words.awaited[row.waited_for] || titleOf(row.waited_for)}` : ""}${
			    row.ended_by ? `, ended by ${wakersText(row.ended_by)}` : ""}`);
	for (const row of sample.traces?.syscalls || [])
		add("call", row, numberOf(row.start_ns), numberOf(row.end_ns ?? sample.window.end_ns),
		    "call", `system call ${row.syscall ? objectText(row.syscall) : "(unknown)"}`);
	for (const row of sample.interruptions || [])
		add("interruption", row, numberOf(row.since_ns), numberOf(row.until_ns), row.cause,
		    `interrupted: ${titleOf(row.cause)}${row.by ? `, ${textOf(row, "by")}` : ""}`);
	return items.filter((item) => item.to >= item.from).sort((a, b) => a.from - b.from);
}

function timelineLanes(items) {
	const lanes = new Map();

	for (const item of items) {
		if (!lanes.has(item.name))
			lanes.set(item.name, { name: item.name, ns: 0, items: [] });
		const lane = lanes.get(item.name);

		lane.items.push(item);
		lane.ns += item.to - item.from;
	}
	return [...lanes.values()].sort((a, b) => b.ns - a.ns);
}

/* Round steps, of which a few fit. */
function axisStep(length, room) {
	const least = length / Math.max(1, room / 90), power = 10 ** Math.floor(Math.log10(least || 1));

	return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
}

/* The colours of states are those of the style sheet, in either theme. */
function colourOf(name, cache) {
	if (!cache.has(name)) {
		const probe = el("span", { class: `swatch state-${name}`, hidden: true });

		document.body.append(probe);
		cache.set(name, getComputedStyle(probe).backgroundColor);
		probe.remove();
	}
	return cache.get(name);
}

/* Draws on a canvas what lies between view.from and view.to. */
function timelineDraw(canvas, lanes, kinds, view, selected) {
	const width = canvas.clientWidth, height = AXIS + lanes.length * LANE;
	const scale = window.devicePixelRatio || 1, colours = new Map();
	const context = canvas.getContext("2d"), room = width - GUTTER;
	const x = (ns) => GUTTER + (ns - view.from) / (view.to - view.from) * room;
	const ink = getComputedStyle(canvas).color, part = (LANE - 4) / kinds.length;
	const step = axisStep(view.to - view.from, room);

	canvas.width = width * scale;
	canvas.height = height * scale;
	canvas.style.height = `${height}px`;
	context.scale(scale, scale);
	context.font = "12px system-ui, sans-serif";
	context.fillStyle = ink;
	for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
		context.globalAlpha = 0.15;
		context.fillRect(x(at), AXIS, 1, height - AXIS);
		context.globalAlpha = 1;
		context.fillText(timeText(at), x(at) + 3, 14);
	}
	lanes.forEach((lane, i) => {
		const top = AXIS + i * LANE;
		let last = { x: -1 };

		context.fillStyle = ink;
		context.fillText(lane.name, 2, top + 14, GUTTER - 8);
		context.save();
		context.beginPath();
		context.rect(GUTTER, top, room, LANE);
		context.clip();
		for (const item of lane.items) {
			if (item.to < view.from || item.from > view.to)
				continue;
			const left = x(item.from), length = Math.max(1, x(item.to) - left);

			/* What would be drawn on the same pixel. */
			if (length === 1 && Math.floor(left) === last.x && last.state === item.state)
				continue;
			last = length === 1 ? { x: Math.floor(left), state: item.state } : last;
			context.fillStyle = colourOf(item.state, colours);
			context.fillRect(left, top + 2 + kinds.indexOf(item.kind) * part, length, part - 1);
			if (item === selected) {
				context.strokeStyle = ink;
				context.lineWidth = 2;
				context.strokeRect(left, top + 1, length, LANE - 2);
			}
		}
		context.restore();
	});
}

/* The keys and the mouse move and narrow the view; nothing if there is nothing to show. */
function timelineView(context) {
	const items = timelineItems(context), lanes = timelineLanes(items);
	const kinds = KINDS.filter((kind) => items.some((item) => item.kind === kind));
	const view = { from: 0, to: context.length }, status = el("p", { role: "status", class: "told" });
	const canvas = el("canvas", { "aria-hidden": "true" });
	let selected = null, dragged = null;

	if (!items.length)
		return null;

	const draw = () => timelineDraw(canvas, lanes, kinds, view, selected);
	const tell = (item) => {
		status.textContent = item ? `${item.name}: ${item.text}, ${timeText(item.to - item.from)}, at ${
			grouped(item.from / 1e6)} ms` : "";
	};

	function show(from, to) {
		const length = Math.min(Math.max(to - from, 100), context.length);

		view.from = Math.min(Math.max(0, from), context.length - length);
		view.to = view.from + length;
		draw();
	}

	function zoom(factor, at = (view.from + view.to) / 2) {
		show(at - (at - view.from) * factor, at + (view.to - at) * factor);
	}

	function pan(share) {
		const length = view.to - view.from;

		show(view.from + share * length, view.to + share * length);
	}

	function select(step) {
		const at = selected ? items.indexOf(selected) + step : 0, length = view.to - view.from;

		selected = items[Math.min(Math.max(0, at), items.length - 1)];
		if (selected.from > view.to || selected.to < view.from)
			show(selected.from - length / 2, selected.from + length / 2);
		draw();
		tell(selected);
	}

	function atMouse(event) {
		const box = canvas.getBoundingClientRect();
		const lane = lanes[Math.floor((event.clientY - box.top - AXIS) / LANE)];
		const ns = view.from + (event.clientX - box.left - GUTTER) / (box.width - GUTTER) * (view.to - view.from);
		const near = (view.to - view.from) / (box.width - GUTTER) * 2;

		return { ns, item: lane?.items.findLast((item) => item.from - near <= ns && ns <= item.to + near) };
	}

	const keys = {
		ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
		ArrowDown: () => select(1), ArrowUp: () => select(-1),
		"+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
		Home: () => show(0, context.length),
		Enter: () => selected && show(selected.from - (selected.to - selected.from),
					      selected.to + (selected.to - selected.from)),
	};
	const box = el("div", { class: "timeline", tabindex: 0, role: "application", id: "timeline-box",
				"aria-label": `Timeline of ${lanes.length} threads, ${items.length} events`,
				"aria-describedby": "timeline-keys",
				onkeydown: (event) => {
					if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey)
						return;
					keys[event.key]();
					event.preventDefault();
				} }, canvas);

	box.addEventListener("wheel", (event) => {
		if (!event.ctrlKey && !event.shiftKey)
			return; // the page scrolls
		event.preventDefault();
		zoom(event.deltaY < 0 ? 0.8 : 1.25, atMouse(event).ns);
	}, { passive: false });
	box.addEventListener("pointerdown", (event) => {
		dragged = { x: event.clientX, from: view.from, to: view.to };
		selected = atMouse(event).item || null;
		tell(selected);
		draw();
	});
	box.addEventListener("pointermove", (event) => {
		if (!dragged || !event.buttons) {
			tell(atMouse(event).item || selected);
			return;
		}
		const by = (event.clientX - dragged.x) / (canvas.clientWidth - GUTTER) * (dragged.to - dragged.from);

		show(dragged.from - by, dragged.to - by);
	});
	new ResizeObserver(draw).observe(box);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
	box.redraw = draw;
	return [el("p", { id: "timeline-keys", class: "hint" },
		"Drag or use the arrow keys to move, + and - (or Ctrl and the wheel) to zoom, up and down for one event after the other, Enter to zoom to it, Home for all."),
		el("p", { class: "tools" },
		   el("button", { type: "button", onclick: () => zoom(0.5) }, "Zoom in"),
		   el("button", { type: "button", onclick: () => zoom(2) }, "Zoom out"),
		   el("button", { type: "button", onclick: () => show(0, context.length) }, "All")),
		box, status];
}
