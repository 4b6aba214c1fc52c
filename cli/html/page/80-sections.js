// SPDX-License-Identifier: Apache-2.0
/* The sections of a record, each of which may have nothing to show. */

function headline(context) {
	const { sample } = context, threads = sample.threads.reduce((sum, thread) => sum + (thread.members || 1), 0);
	const lost = numberOf(sample.lost) || 0;

	return el("p", { class: "headline" },
		sample.capture ? isolated(textOf(sample.capture, "process")) : "process",
		sample.processes ? ` (${sample.processes.length} processes)` : `[${sample.pid}]`,
		`: ${timeText(context.length)}, ${grouped(threads)} threads, `,
		lost ? el("strong", { class: "warning" }, `${grouped(lost)} lost`) : "nothing lost");
}

function verdictView(context) {
	const { sample, reading, words } = context, busy = numberOf(sample.busy_ns) || 0;
	const rows = sample.verdict.map((row) => ({ ...row, cause: words.causes[row.cause] || row.cause }));

	return [
		el("ol", { class: "sentences" }, reading.verdict.map((sentence, i) => el("li", {},
			sample.verdict[i] && styled(el("span", { class: "meter" }),
						    { width: `${100 * Math.min(1, sample.verdict[i].share)}%` }),
			isolated(sentence)))),
		reading.next.map((line) => el("p", { class: "next" }, isolated(line))),
		rowsTable(`Kept from running by; of ${timeText(busy)} busy time, the threads were kept from running for ${
			timeText(numberOf(sample.kept_ns) || 0)}, of which ${
			timeText(numberOf(sample.unexplained_ns) || 0)} have no known cause.`, rows, context, "ns"),
	];
}

function notesView(context) {
	const losses = Object.entries(context.sample.losses || {}).filter(([, count]) => numberOf(count));

	return [
		el("ul", { class: "notes" }, context.reading.notes.map((note) => {
			const [, kind, text] = /^# (\w+): (.*)$/.exec(note) || [null, "NOTE", note];

			return el("li", { class: kind === "WARNING" ? "warning" : null },
				kind === "WARNING" ? el("strong", {}, "Missing: ") : "", isolated(text));
		})),
		losses.length ? rowsTable("lost", losses.map(([reason, count]) =>
			({ reason: titleOf(reason), count })), context)
			      : el("p", {}, "Nothing was lost: the figures are complete."),
	];
}

function tablesView(context) {
	const { sample } = context, { traces } = sample;
	const parts = [
		rowsTable("Processes", sample.processes, context, "kept_ns"),
		rowsTable("Slow system calls", traces?.syscalls, context, "duration_ns"),
		rowsTable("Long waits", traces?.waits, context, "duration_ns"),
		rowsTable("Interruptions", sample.interruptions, context, "ns"),
		rowsTable("What processes used", sample.resources, context),
		rowsTable("TCP segments that were sent again", sample.tcp_retransmissions, context),
		rowsTable("Upcalls of openvswitch", sample.upcalls, context),
	].filter(Boolean);

	return parts.length ? parts : null;
}

const ELSEWHERE = ["schema", "type", "capture", "window", "losses", "lost", "verdict", "busy_ns", "kept_ns",
		   "unexplained_ns", "processes", "threads", "traces", "interruptions", "resources",
		   "tcp_retransmissions", "upcalls", "absent"];

function captureView(context) {
	const { sample } = context;
	const traces = Object.fromEntries(Object.entries(sample.traces || {})
		.filter(([, value]) => typeof value !== "object"));

	return [
		objectView({ ...sample.capture, ...sample.window }, context),
		objectView(sample, context, { skip: ELSEWHERE }),
		Object.keys(traces).length ? [el("h3", {}, "Lists with stacks"), objectView(traces, context)] : null,
	];
}

function sectionOf(id, title, content) {
	const parts = Array.isArray(content) ? content.flat(3).filter(Boolean) : content ? [content] : [];

	return parts.length ? el("section", { id, "aria-labelledby": `${id}-title` },
				 el("h2", { id: `${id}-title` }, title), parts) : null;
}

/* What all sections of a sample look at. */
function contextOf(sample, reading, words) {
	return {
		sample, reading, words,
		start: numberOf(sample.window.start_ns),
		length: numberOf(sample.window.duration_ns),
		stacks: sample.traces?.stacks || [],
		states: statesOf(sample, words),
		life: sample.threads.reduce((sum, thread) => sum + (numberOf(thread.ledger.life_ns) || 0), 0),
		index: new Map(sample.threads.map((thread, i) => [thread, i])),
		hidden: new Set(),
	};
}

function sampleSections(sample, reading, words) {
	const context = contextOf(sample, reading, words), threads = threadsView(context);

	return [
		headline(context),
		sectionOf("verdict", "Verdict", verdictView(context)),
		sectionOf("states-section", "Where the time went", statesView(context, threads.redraw)),
		sectionOf("threads", "Threads", threads.element),
		sectionOf("timeline", "Timeline", timelineView(context)),
		sectionOf("flames", "Flame graphs", flamesView(context)),
		sectionOf("distributions", "Distributions", distributionsView(context)),
		sectionOf("tables", "Tables", tablesView(context)),
		sectionOf("notes", "What is missing, and notes", notesView(context)),
		sectionOf("capture", "How it was captured", captureView(context)),
	];
}

/* The course of what kept threads from running, over the samples. */
function sparkline(shares) {
	const most = Math.max(...shares, 0.000001), width = 100 / shares.length;

	return svg("svg", { class: "sparkline", viewBox: "0 0 100 20", preserveAspectRatio: "none", role: "img",
			    "aria-label": `kept from running: ${shares.map((share) => shareText(share, 1)).join(", ")}` },
		shares.map((share, i) => svg("rect", { x: i * width, width: width * 0.9,
						       y: 20 - 20 * share / most, height: 20 * share / most })));
}

function summarySections(summary) {
	const context = { start: 0, stacks: [] };
	const flat = (measure) => ({ ...measure, per_second: measure.per_second?.mean });
	const threads = sortableTable({
		caption: "Threads over the samples",
		columns: [
			{ key: "tid", title: "TID", value: (thread) => thread.tid, cell: (thread) => String(thread.tid) },
			{ key: "name", title: "Thread", value: (thread) => textOf(thread, "name"), cell: (thread) => isolated(textOf(thread, "name")) },
			{ key: "samples", title: "Samples", numeric: true, value: (thread) => thread.samples, cell: (thread) => grouped(thread.samples) },
			{ key: "kept", title: "Kept from running", numeric: true, value: (thread) => Math.max(0, ...thread.kept_shares),
			  cell: (thread) => sparkline(thread.kept_shares) },
		],
		rows: summary.threads, sort: "kept", detail: (thread) => rowsTable("measures", thread.measures.map(flat), context) });

	return [
		el("p", { class: "headline" }, `${grouped(summary.samples)} samples, ${timeText(numberOf(summary.duration_ns))}`),
		sectionOf("course", "Kept from running, over the samples", sparkline(summary.all.kept_shares)),
		sectionOf("measures", "All threads together", rowsTable("measures", summary.all.measures.map(flat), context)),
		sectionOf("threads", "Threads", threads.element),
	];
}

function comparisonSections(comparison) {
	const context = { start: 0, stacks: [] };
	const rows = comparison.differences.map(({ before, now, ...rest }) =>
		({ ...rest, before: before.mean, now: now.mean }));

	return [
		sectionOf("differences", "What is different from the saved capture",
			  rowsTable("differences of means", rows, context) || el("p", {}, "Nothing that the samples could show.")),
		sectionOf("capture", "How it was compared", objectView(comparison, context, { skip: ["schema", "type", "differences"] })),
	];
}

function triggersSections(stats) {
	const context = { start: 0, stacks: [] }, windows = stats.windows;
	const row = { of: "windows", buckets: new Map((windows?.buckets || []).map(({ le_ns: le, count }) =>
		[numberOf(le), numberOf(count)])) };

	return [
		row.buckets.size ? sectionOf("distributions", "Durations of windows", histogram(row)) : null,
		sectionOf("hits", "What the triggers did", objectView(stats, context, { skip: ["schema", "type"] })),
	];
}
