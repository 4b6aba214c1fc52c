// SPDX-License-Identifier: Apache-2.0
/* The critical path of the window: what one thread's time depended on, across threads. */

/* Its rows, in the order of time, and [] if there is none. */
function pathRows({ sample }) {
	return sample.critical_path?.rows || [];
}

function pathWho(row) {
	return `${whoText(row.thread)}${row.several_threads ? " and others" : ""}`;
}

function pathLength(row) {
	return numberOf(row.end_ns) - numberOf(row.start_ns);
}

/* What the path's time was, by state. */
function pathParts(rows, { words }) {
	const sums = new Map();

	for (const { states_ns: states } of rows)
		for (const [key, ns] of Object.entries(states || {}))
			sums.set(key, (sums.get(key) || 0) + numberOf(ns));
	return [...sums].map(([key, ns]) => ({ key, ns, title: words.states[key] || titleOf(key) }));
}

/* Null if there is none. */
function pathView(context) {
	const rows = pathRows(context), { critical_path: path } = context.sample;
	const whole = rows.reduce((sum, row) => sum + pathLength(row), 0);
	const at = (row) => numberOf(row.start_ns) - context.start;
	const lost = numberOf(path?.lost_events);

	if (!rows.length)
		return null;
	return [
		el("p", {}, "Of ", isolated(whoText(path.thread)), `, ${timeText(whole)} in ${
			grouped(numberOf(path.legs) || rows.length)} legs. Each is what the thread ran, waited ` +
			"for or was kept by, in whatever thread that was."),
		lost ? el("p", { class: "warning" }, `The recording lacks ${grouped(lost)} events.`) : null,
		stackedBar(pathParts(rows, context)),
		sortableTable({
			caption: "The longest first; the header \u201cat\u201d gives the order of time.",
			columns: [
				{ key: "at", title: "at", numeric: true, value: (row) => -at(row),
				  cell: (row) => timeText(at(row)) },
				{ key: "ns", title: "time", numeric: true, value: pathLength,
				  cell: (row) => timeText(pathLength(row)) },
				{ key: "share", title: "share", numeric: true, value: pathLength,
				  cell: (row) => shareText(pathLength(row), whole) },
				{ key: "thread", title: "thread", value: pathWho,
				  cell: (row) => isolated(pathWho(row)) },
				{ key: "what", title: "what", value: (row) => textOf(row, "text"),
				  cell: (row) => el("span", {},
					el("span", { class: `swatch state-${row.state}` }),
					isolated(textOf(row, "text") || titleOf(row.state))) },
			],
			rows, sort: "ns", id: "path-table" }).element,
	];
}
