// SPDX-License-Identifier: Apache-2.0
/* How durations are distributed, of one thread or of all: percentiles, and drawings of buckets. */

const PERMILLES = [["p50", 500], ["p90", 900], ["p99", 990], ["p99.9", 999]];

/* Of one thread: [what, object with buckets]. */
function distributionsOf(thread) {
	return [
		["running", thread.run],
		["ready", thread.ready],
		...thread.syscalls.map((call) => [objectText(call), call]),
		...Object.entries(thread.interruptions || {}).map(([cause, object]) =>
			[`interrupted: ${titleOf(cause)}`, object]),
		...(thread.block_requests || []).map((request) =>
			[`${textOf(request, "device")} ${request.operation}`, request]),
	].filter(([, object]) => object?.buckets);
}

/* [{ of, buckets: Map of le to count, max }]: sums over threads. */
function distributionRows(threads) {
	const rows = new Map();

	for (const [of, object] of threads.flatMap(distributionsOf)) {
		if (!rows.has(of))
			rows.set(of, { of, buckets: new Map(), max: 0 });
		const row = rows.get(of);

		for (const bucket of object.buckets) {
			const le = numberOf(bucket.le_ns);

			row.buckets.set(le, (row.buckets.get(le) || 0) + numberOf(bucket.count));
		}
		row.max = Math.max(row.max, numberOf(object.longest_ns ?? object.max_ns) || 0);
	}
	return [...rows.values()];
}

function countOf(row) {
	return [...row.buckets.values()].reduce((sum, count) => sum + count, 0);
}

/* The limit of the bucket that has it, but no more than the longest. */
function permille(row, share) {
	const whole = countOf(row);
	let seen = 0;

	for (const [le, count] of [...row.buckets].sort(([a], [b]) => a - b)) {
		seen += count;
		if (seen * 1000 >= share * whole)
			return row.max ? Math.min(le, row.max) : le;
	}
	return row.max;
}

/* [{ limit, count }], two columns for each power of two. */
function histogramColumns(row) {
	const counts = new Map(), columns = [];

	for (const [le, count] of row.buckets) {
		const at = Math.ceil(Math.log2(Math.max(1, le)) * 2);

		counts.set(at, (counts.get(at) || 0) + count);
	}
	for (let at = Math.min(...counts.keys()); at <= Math.max(...counts.keys()); at++)
		columns.push({ limit: timeText(Math.round(2 ** (at / 2))), count: counts.get(at) || 0 });
	return columns;
}

/* Columns of a drawing that is as wide as its place: [{ share, title }]. */
function columnsDrawing(columns, height, label, className) {
	const width = 100 / columns.length;

	return svg("svg", { viewBox: `0 0 100 ${height}`, preserveAspectRatio: "none", role: "img",
			    class: className, "aria-label": label },
		   columns.map(({ share, title }, i) => svg("rect", {
			   x: i * width, width: width * 0.9,
			   y: height - height * share, height: height * share,
		   }, svg("title", {}, title))));
}

function histogram(row) {
	const columns = histogramColumns(row), most = Math.max(...columns.map(({ count }) => count));
	const textOfColumn = ({ limit, count }) => `${grouped(count)} up to ${limit}`;

	return el("figure", { class: "histogram" },
		columnsDrawing(columns.map((column) => ({ share: column.count / most,
							  title: textOfColumn(column) })), 30,
			`${row.of}: ${columns.filter(({ count }) => count).map(textOfColumn).join(", ")}`),
		el("figcaption", {}, `${columns[0].limit} to ${columns.at(-1).limit}; the highest column is ${
			grouped(most)}`));
}

function distributionTable(threads) {
	const rows = distributionRows(threads);
	const time = (key, value) => ({ key, title: key, numeric: true, value,
					cell: (row) => timeText(value(row)) });

	return rows.length ? sortableTable({
		caption: "Percentiles are limits of buckets, so up to 1/16 too large.",
		columns: [
			{ key: "of", title: "of", value: (row) => row.of, cell: (row) => isolated(row.of) },
			{ key: "count", title: "count", numeric: true, value: countOf,
			  cell: (row) => grouped(countOf(row)) },
			...PERMILLES.map(([key, share]) => time(key, (row) => permille(row, share))),
			time("max", (row) => row.max),
		],
		rows, sort: "max", detail: histogram, id: "distribution-table" }).element : null;
}

function distributionsView({ sample: { threads } }) {
	const table = distributionTable(threads), place = el("div", {}, table);
	const choose = (event) => place.replaceChildren(distributionTable(
		event.target.value ? [threads[event.target.value]] : threads) || "nothing");

	if (!table)
		return null;
	return [el("p", { class: "tools" }, el("label", {}, "Of ", el("select", { onchange: choose },
		el("option", { value: "" }, "all threads"),
		threads.map((thread, i) => el("option", { value: i }, whoText(thread)))))), place];
}
