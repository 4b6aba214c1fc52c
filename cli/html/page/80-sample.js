// SPDX-License-Identifier: Apache-2.0
/* The sections of a sample, each of which may have nothing to show. */

function headline({ sample, length }) {
	const threads = sample.threads.reduce((sum, thread) => sum + (thread.members || 1), 0);
	const lost = numberOf(sample.lost) || 0;

	return el("p", { class: "headline" },
		isolated(sample.capture ? textOf(sample.capture, "process") : "process"),
		sample.processes ? ` (${sample.processes.length} processes)` : `[${sample.pid}]`,
		`: ${timeText(length)}, ${grouped(threads)} threads, `,
		lost ? el("strong", { class: "warning" }, `${grouped(lost)} lost`) : "nothing lost");
}

/* The sentences are the text's; a bar behind each shows its share. */
function verdictView(context) {
	const { sample, reading, words } = context;
	const time = (key) => timeText(numberOf(sample[key]) || 0);
	const meter = (row) => row && styled(el("span", { class: "meter" }),
					     { width: `${100 * Math.min(1, row.share)}%` });

	return [
		el("ol", { class: "sentences" }, reading.verdict.map((sentence, i) =>
			el("li", {}, meter(sample.verdict[i]), isolated(sentence)))),
		reading.next.map((line) => el("p", { class: "next" }, isolated(line))),
		rowsTable(`Kept from running by. The threads were busy for ${time("busy_ns")}, and kept ` +
			  `from running for ${time("kept_ns")} of it; ${time("unexplained_ns")} have no ` +
			  "known cause.",
			  sample.verdict.map((row) => ({ ...row, cause: words.causes[row.cause] || row.cause })),
			  context, "ns"),
	];
}

/* "# WARNING: ..." and "# NOTE: ...", as the text has them. */
function noteView(line) {
	const [, kind, text] = /^# (WARNING|NOTE): (.*)$/.exec(line) || [null, "NOTE", line];

	return kind === "NOTE" ? el("li", {}, isolated(text))
			       : el("li", { class: "warning" }, el("strong", {}, "Missing: "), isolated(text));
}

/* Lists of which the page has a part. */
const LISTS = { syscalls: "slow system calls", waits: "long waits", samples: "samples of running code",
		interruptions: "interruptions" };

function leftOut({ reading }) {
	return Object.keys(LISTS).filter((key) => numberOf(reading.left_out[key]));
}

function leftOutView(context) {
	const counts = leftOut(context).map((key) =>
		`${grouped(numberOf(context.reading.left_out[key]))} ${LISTS[key]}`);

	return counts.length ? el("p", { class: "left-out" }, "To open quickly, this page, the JSON in it " +
		`included, is without ${counts.join(", ")}: of each list it has the longest, and one for ` +
		"each stack. The flame graphs are of all. -o json writes all of them.") : null;
}

function notesView(context) {
	const { sample, reading } = context;

	return [
		leftOutView(context),
		context.recorded && el("p", { class: "left-out" }, "The JSON in this page is without the " +
			"recording, of which the timeline has what it draws. -o json writes all of it."),
		numberOf(sample.lost) ? null : el("p", {}, "Nothing was lost: the figures are complete."),
		el("ul", { class: "notes" }, reading.notes.map(noteView)),
	];
}

function tablesView(context) {
	const { sample, reading } = context, { traces } = sample;
	const caption = (title, key) => (numberOf(reading.left_out[key])
		? `${title}; ${grouped(numberOf(reading.left_out[key]))} more are left out` : title);

	return [
		rowsTable("Processes", sample.processes, context, "kept_ns"),
		rowsTable(caption("Slow system calls", "syscalls"), traces?.syscalls, context, "duration_ns"),
		rowsTable(caption("Long waits", "waits"), traces?.waits, context, "duration_ns"),
		rowsTable(caption("Interruptions", "interruptions"), sample.interruptions, context, "ns"),
		rowsTable("How late softirqs ran", sample.softirq_delays, context, "max_ns"),
		rowsTable("What processes used", sample.resources, context),
		rowsTable("TCP segments that were sent again", sample.tcp_retransmissions, context),
		rowsTable("Upcalls of openvswitch", sample.upcalls, context),
	];
}

/* What other sections have. Whatever else there is is shown with how it was captured. */
const ELSEWHERE = ["schema", "type", "capture", "window", "losses", "lost", "verdict",
		   "largest_culprit", "busy_ns", "kept_ns", "unexplained_ns", "processes", "threads",
		   "traces", "interruptions", "softirq_delays", "resources", "tcp_retransmissions", "upcalls",
		   "absent", "critical_path"];

function captureView(context) {
	const { sample } = context;
	const traces = Object.entries(sample.traces || {}).filter(([, value]) => typeof value !== "object");

	return [
		objectView({ ...sample.capture, ...sample.window }, context),
		objectView(sample, context, { skip: ELSEWHERE }),
		traces.length ? [el("h3", {}, "Lists with stacks"),
				 objectView(Object.fromEntries(traces), context)] : null,
	];
}

function timelineSection(context) {
	const view = timelineView(context);

	return view && [
		leftOut(context).length
			? el("p", { class: "hint" }, "The longest of each kind; others are left out.") : null,
		context.recorded && recordedHint(context), view];
}

/* What all sections of a sample look at. */
function contextOf(sample, reading, words, recorded) {
	return {
		sample, reading, words, recorded,
		start: numberOf(sample.window.start_ns),
		length: numberOf(sample.window.duration_ns),
		stacks: stackNames(sample.traces?.stacks || []),
		states: statesOf(sample, words),
		life: sample.threads.reduce((sum, thread) => sum + (numberOf(thread.ledger.life_ns) || 0), 0),
		hidden: new Set(), // states that are left out of bars
	};
}

/* [[id, title, what makes it]]; without a title it is no section of its own. */
function sampleSections(sample, reading, words, recorded) {
	const context = contextOf(sample, reading, words, recorded), threads = threadsView(context);

	return [
		["headline", null, () => headline(context)],
		["verdict", "Verdict", () => verdictView(context)],
		["path", "Critical path", () => pathView(context)],
		["states-section", "Where the time went", () => statesView(context, threads.redraw)],
		["threads", "Threads", () => threads.element],
		["timeline", "Timeline", () => timelineSection(context)],
		["flames", "Flame graphs", () => flamesView(context)],
		["distributions", "Distributions", () => distributionsView(context)],
		["tables", "Tables", () => tablesView(context)],
		["notes", "What is missing, and notes", () => notesView(context)],
		["capture", "How it was captured", () => captureView(context)],
	];
}
