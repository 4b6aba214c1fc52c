// SPDX-License-Identifier: Apache-2.0
/* What has times of its own, on a line for each thread: slow calls, waits and interruptions. This
 * is what there is and how it is drawn; 55-timeline.js is how it is looked at. */

const KINDS = ["wait", "call", "interruption"]; // from the top of a thread's line downwards
const PATH = "critical path"; // a line of its own, above those of threads
const GUTTER = 170, LANE = 20, AXIS = 22; // pixels

function waitText(row, words) {
	const awaited = row.waited_for && (words.awaited[row.waited_for] || titleOf(row.waited_for));

	return [words.states[row.state] || "waited", awaited && `for ${awaited}`,
		row.ended_by && `ended by ${wakersText(row.ended_by)}`].filter(Boolean).join(", ");
}

/* [{ kind, name, state, from, to, text() }], times from the window's start on, in ns. */
function timelineItems(context) {
	const { sample, start, words } = context, { traces, window } = sample;
	const names = new Map(), items = [];
	const put = (kind, name, from, to, state, text) =>
		items.push({ kind, name, state, text, from: Math.max(0, numberOf(from) - start),
			     to: Math.min(context.length, numberOf(to) - start) });
	const add = (kind, row, ...rest) => {
		if (!names.has(row.tid))
			names.set(row.tid, whoText(row));
		put(kind, names.get(row.tid), ...rest);
	};

	for (const row of traces?.waits || [])
		add("wait", row, row.start_ns, row.end_ns ?? window.end_ns, row.state,
		    () => waitText(row, words));
	for (const row of traces?.syscalls || [])
		add("call", row, row.start_ns, row.end_ns ?? window.end_ns, "call",
		    () => `system call ${row.syscall ? objectText(row.syscall) : "(unknown)"}`);
	for (const row of sample.interruptions || [])
		add("interruption", row, row.since_ns, row.until_ns, row.cause,
		    () => `interrupted: ${titleOf(row.cause)}${row.by ? `, ${textOf(row, "by")}` : ""}`);
	for (const row of pathRows(context))
		put(PATH, PATH, row.start_ns, row.end_ns, row.state,
		    () => `${pathWho(row)}: ${textOf(row, "text") || titleOf(row.state)}`);
	return items.filter((item) => item.to >= item.from).sort((a, b) => a.from - b.from);
}

/* The path, and then those with the most time first. */
function timelineLanes(items) {
	const lanes = new Map();
	const isPath = (lane) => Number(lane.name === PATH);

	for (const item of items) {
		if (!lanes.has(item.name))
			lanes.set(item.name, { name: item.name, ns: 0, items: [] });
		const lane = lanes.get(item.name);

		lane.items.push(item);
		lane.ns += item.to - item.from;
	}
	return [...lanes.values()].sort((a, b) => isPath(b) - isPath(a) || b.ns - a.ns);
}

/* A round number of ns, of which a few fit. */
function axisStep(length, room) {
	const least = length / Math.max(1, room / 90), power = 10 ** Math.floor(Math.log10(least || 1));

	return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
}

/* Colours of states are those of the style sheet, in either theme. */
function colourOf(name, known) {
	if (!known.has(name)) {
		const probe = el("span", { class: `swatch state-${name}`, hidden: true });

		document.body.append(probe);
		known.set(name, getComputedStyle(probe).backgroundColor);
		probe.remove();
	}
	return known.get(name);
}

function axisDraw(pen, view, x, height) {
	const step = axisStep(view.to - view.from, view.room);

	for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
		pen.globalAlpha = 0.15;
		pen.fillRect(x(at), AXIS, 1, height - AXIS);
		pen.globalAlpha = 1;
		pen.fillText(timeText(at), x(at) + 3, 14);
	}
}

/* One thread's line. */
function laneDraw(pen, lane, view, x, top, { kinds: all, colours, ink }) {
	const kinds = lane.name === PATH ? [PATH] : all, part = (LANE - 4) / kinds.length;
	let last = null;

	pen.fillStyle = ink;
	pen.fillText(lane.name, 2, top + 14, GUTTER - 8);
	pen.save();
	pen.beginPath();
	pen.rect(GUTTER, top, view.room, LANE);
	pen.clip();
	for (const item of lane.items) {
		const left = x(item.from), length = Math.max(1, x(item.to) - left);
		const pixel = length === 1 ? `${Math.floor(left)} ${item.state}` : null;

		if (item.to < view.from || item.from > view.to || (pixel && pixel === last))
			continue; // not here, or drawn already
		last = pixel;
		pen.fillStyle = colourOf(item.state, colours);
		pen.fillRect(left, top + 2 + kinds.indexOf(item.kind) * part, length, part - 1);
		if (item !== view.selected)
			continue;
		pen.strokeStyle = ink;
		pen.lineWidth = 2;
		pen.strokeRect(left, top + 1, length, LANE - 2);
	}
	pen.restore();
}

/* Draws on a canvas what lies between view.from and view.to. */
function timelineDraw(canvas, lanes, kinds, view) {
	const width = canvas.clientWidth, height = AXIS + lanes.length * LANE;
	const scale = window.devicePixelRatio || 1, pen = canvas.getContext("2d");
	const ink = getComputedStyle(canvas).color, colours = new Map();
	const x = (ns) => GUTTER + (ns - view.from) / (view.to - view.from) * view.room;

	view.room = width - GUTTER;
	canvas.width = width * scale;
	canvas.height = height * scale;
	styled(canvas, { height: `${height}px` });
	pen.scale(scale, scale);
	pen.font = "12px system-ui, sans-serif";
	pen.fillStyle = ink;
	axisDraw(pen, view, x, height);
	lanes.forEach((lane, i) =>
		laneDraw(pen, lane, view, x, AXIS + i * LANE, { kinds, colours, ink }));
}
