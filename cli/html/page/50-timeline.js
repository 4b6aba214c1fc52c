// SPDX-License-Identifier: Apache-2.0
/* What has times of its own, on a line for each thread: slow calls, waits and interruptions. This
 * is what there is and how it is drawn; 55-timeline.js is how it is looked at. */

const KINDS = ["state", "wait", "call", "interruption"]; // from the top of a thread's line downwards
const PATH = "critical path"; // a line of its own, above those of threads
const STRIPS = ["state", "cpu"]; // one follows the other
const GUTTER = 170, LANE = 20, HIGH_LANE = 34, AXIS = 22; // pixels

function waitText(row, words) {
	const awaited = row.waited_for && (words.awaited[row.waited_for] || titleOf(row.waited_for));

	return [words.states[row.state] || "waited", awaited && `for ${awaited}`,
		row.ended_by && `ended by ${wakersText(row.ended_by)}`].filter(Boolean).join(", ");
}

/* [{ kind, lane, name, state, from, to, text() }], times from the window's start on, in ns. */
function timelineItems(context) {
	const { sample, start, words } = context, { traces, window } = sample;
	const names = new Map(), items = [];
	const put = (kind, lane, name, from, to, state, text) =>
		items.push({ kind, lane, name, state, text, from: Math.max(0, numberOf(from) - start),
			     to: Math.min(context.length, numberOf(to) - start) });
	const add = (kind, row, ...rest) => {
		if (!names.has(row.tid))
			names.set(row.tid, whoText(row));
		put(kind, row.tid, names.get(row.tid), ...rest);
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
		put(PATH, PATH, PATH, row.start_ns, row.end_ns, row.state,
		    () => `${pathWho(row)}: ${textOf(row, "text") || titleOf(row.state)}`);
	return [...recordedItems(context), ...items].filter((item) => item.to >= item.from)
		.sort((a, b) => a.from - b.from);
}

/* Where a lane comes: the path, threads that were recorded, in their order, others, and CPUs. */
function lanePlace(lane, recorded) {
	const place = recorded ? recorded.threads.findIndex(({ tid }) => tid === lane.key) : -1;

	if (lane.key === PATH)
		return -1;
	if (typeof lane.key === "string")
		return 1e9;
	return place < 0 ? 1e6 : place;
}

/* Puts a lane's kinds below one another; states are what is looked at most. */
function laneParts(lane, all, top) {
	const kinds = typeof lane.key === "string" ? [lane.items[0].kind] : all;
	const isHigh = kinds.length > 1 && kinds.includes("state");
	const weight = (kind) => (isHigh && kind === "state" ? 4 : 1);
	const height = isHigh ? HIGH_LANE : LANE;
	const unit = (height - 4) / kinds.reduce((sum, kind) => sum + weight(kind), 0);
	let at = 2;

	lane.parts = kinds.map((kind) => {
		const part = { kind, top: at, height: unit * weight(kind) - 1 };

		at += unit * weight(kind);
		return part;
	});
	Object.assign(lane, { top, height });
	return top + height;
}

/* Of those that are not recorded, the ones with the most time first. */
function timelineLanes(items, { recorded }) {
	const lanes = new Map();
	const kinds = KINDS.filter((kind) => items.some((item) => item.kind === kind));

	for (const item of items) {
		if (!lanes.has(item.lane))
			lanes.set(item.lane, { key: item.lane, name: item.name, ns: 0, items: [] });
		const lane = lanes.get(item.lane);

		lane.items.push(item);
		lane.ns += item.to - item.from;
	}
	for (const lane of lanes.values())
		lane.place = lanePlace(lane, recorded);
	const sorted_ = [...lanes.values()].sort((a, b) => a.place - b.place ||
		(a.place === 1e9 ? compare(a.name, b.name) : b.ns - a.ns));

	sorted_.reduce((top, lane) => laneParts(lane, kinds, top), AXIS);
	return sorted_;
}

/* A round number of ns, of which a few fit. */
function axisStep(length, room) {
	const least = length / Math.max(1, room / 90), power = 10 ** Math.floor(Math.log10(least || 1));

	return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
}

/* With as many digits as tell it from its neighbours. */
function axisText(at, step) {
	const [unit, name] = UNITS.findLast(([ns]) => Math.abs(at) >= ns) || UNITS[0];

	return `${(at / unit).toFixed(Math.max(0, Math.ceil(-Math.log10(step / unit))))} ${name}`;
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
		pen.fillText(axisText(at, step), x(at) + 3, 14);
	}
}

/* Items that may overlap: each has at least a pixel. */
function itemsDraw(pen, items, { part, top, view, x, colours }) {
	let last = null;

	for (const item of items) {
		const left = x(item.from), length = Math.max(1, x(item.to) - left);
		const pixel = length === 1 ? `${Math.floor(left)} ${item.state}` : null;

		if (item.to < view.from || item.from > view.to || (pixel && pixel === last))
			continue; // not here, or drawn already
		last = pixel;
		pen.fillStyle = colourOf(item.state, colours);
		pen.fillRect(left, top + part.top, length, part.height);
	}
}

/* One thread's line. */
function laneDraw(pen, lane, view, x, { colours, ink }) {
	const { top, height } = lane, { selected } = view;

	pen.fillStyle = ink;
	pen.fillText(lane.name, 2, top + 14, GUTTER - 8);
	pen.save();
	pen.beginPath();
	pen.rect(GUTTER, top, view.room, height);
	pen.clip();
	for (const part of lane.parts) {
		const items = lane.items.filter((item) => item.kind === part.kind);

		if (STRIPS.includes(part.kind))
			stripDraw(pen, items, { from: view.from, to: view.to, x, top: top + part.top,
						height: part.height, colours });
		else
			itemsDraw(pen, items, { part, top, view, x, colours });
	}
	if (selected?.lane === lane.key) {
		pen.strokeStyle = ink;
		pen.lineWidth = 2;
		pen.strokeRect(x(selected.from), top + 1, Math.max(1, x(selected.to) - x(selected.from)),
			       height - 2);
	}
	pen.restore();
}

/* What is before the window is shaded. */
function beforeDraw(pen, view, x, height) {
	if (view.from >= 0)
		return;
	pen.globalAlpha = 0.07;
	pen.fillRect(GUTTER, 0, Math.min(view.room, x(0) - GUTTER), height);
	pen.globalAlpha = 1;
	pen.fillRect(x(0), 0, 1, height);
}

/* Draws on a canvas what lies between view.from and view.to. */
function timelineDraw(canvas, lanes, arrows, view) {
	const width = canvas.clientWidth, height = lanes.at(-1).top + lanes.at(-1).height;
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
	beforeDraw(pen, view, x, height);
	axisDraw(pen, view, x, height);
	lanes.forEach((lane) => laneDraw(pen, lane, view, x, { colours, ink }));
	arrowsDraw(pen, arrows, view, x, ink);
}
