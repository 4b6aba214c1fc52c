// SPDX-License-Identifier: Apache-2.0
/* The sections of what is not one sample: statistics over several, what is different from a saved
 * capture, and what triggers did. */

const NO_SAMPLE = { start: 0, stacks: [] };

/* The course of what kept threads from running, over the samples. */
function sparkline(shares) {
	const most = Math.max(...shares, 1e-9);
	const columns = shares.map((share) => ({ share: share / most, title: shareText(share, 1) }));

	return columnsDrawing(columns, 20, `kept from running: ${
		columns.map(({ title }) => title).join(", ")}`, "sparkline");
}

/* Rates are told by their means. */
function measuresTable(measures) {
	return rowsTable("measures", measures.map((measure) =>
		({ ...measure, per_second: measure.per_second?.mean })), NO_SAMPLE);
}

function summaryThreads(summary) {
	return sortableTable({
		caption: "Threads over the samples",
		columns: [
			{ key: "tid", title: "TID", value: (thread) => thread.tid,
			  cell: (thread) => String(thread.tid) },
			{ key: "name", title: "Thread", value: (thread) => textOf(thread, "name"),
			  cell: (thread) => isolated(textOf(thread, "name")) },
			{ key: "samples", title: "Samples", numeric: true, value: (thread) => thread.samples,
			  cell: (thread) => grouped(thread.samples) },
			{ key: "kept", title: "Kept from running", down: true,
			  value: (thread) => Math.max(0, ...thread.kept_shares),
			  cell: (thread) => sparkline(thread.kept_shares) },
		],
		rows: summary.threads, sort: "kept",
		detail: (thread) => measuresTable(thread.measures) }).element;
}

function summarySections(summary) {
	return [
		["headline", null, () => el("p", { class: "headline" }, `${grouped(summary.samples)} samples, ${
			timeText(numberOf(summary.duration_ns))}`)],
		["course", "Kept from running, over the samples", () => sparkline(summary.all.kept_shares)],
		["measures", "All threads together", () => measuresTable(summary.all.measures)],
		["threads", "Threads", () => summaryThreads(summary)],
	];
}

function comparisonSections(comparison) {
	const rows = comparison.differences.map(({ before, now, ...rest }) =>
		({ ...rest, before: before.mean, now: now.mean }));

	return [
		["differences", "What is different from the saved capture", () =>
			rowsTable("differences of means", rows, NO_SAMPLE) || el("p", {}, "Nothing.")],
		["capture", "How it was compared", () => objectView(comparison, NO_SAMPLE,
			{ skip: ["schema", "type", "differences"] })],
	];
}

function triggersSections(stats) {
	const buckets = new Map((stats.windows?.buckets || []).map((bucket) =>
		[numberOf(bucket.le_ns), numberOf(bucket.count)]));

	return [
		["durations", "Durations of windows", () =>
			(buckets.size ? histogram({ of: "windows", buckets }) : null)],
		["hits", "What the triggers did", () => objectView(stats, NO_SAMPLE,
			{ skip: ["schema", "type"] })],
	];
}
