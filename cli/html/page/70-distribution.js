// SPDX-License-Identifier: Apache-2.0
/* How durations are distributed, of one thread or of all: percentiles, and drawings of buckets. */

const PERMILLES = [["p50", 500], ["p90", 900], ["p99", 990], ["p99.9", 999]];

/* [{ of, buckets: Map of le to count, max }] of what has buckets in a thread. */
function distributionsOf(thread, into) {
	const add = (of, object) => {
		if (!object?.buckets)
			return;
		if (!into.has(of))
			into.set(of, { of, buckets: new Map(), max: 0 });
		const row = into.get(of);

		for (const { le_ns: le, count } of object.buckets)
			row.buckets.set(numberOf(le), (row.buckets.get(numberOf(le)) || 0) + numberOf(count));
		row.max = Math.max(row.max, numberOf(object.longest_ns ?? object.max_ns) || 0);
	};

	add("running", thread.run);
	add("ready", thread.ready);
	for (const call of thread.syscalls)
		add(objectText(call), call);
	for (const [cause, object] of Object.entries(thread.interruptions || {}))
		add(`interrupted: ${titleOf(cause)}`, object);
	for (const request of thread.block_requests || [])
		add(`${textOf(request, "device")} ${request.operation}`, request);
	return into;
}

function permille(row, share) {
	const sorted = [...row.buckets].sort(([a], [b]) => a - b);
	const whole = sorted.reduce((sum, [, count]) => sum + count, 0);
	let seen = 0;

	for (const [le, count] of sorted) {
		seen += count;
		if (seen * 1000 >= share * whole)
			return row.max ? Math.min(le, row.max) : le;
	}
	return row.max;
}

/* Columns by halves of powers of two. */
function histogram(row) {
	const columns = new Map(), bins = [];

	for (const [le, count] of row.buckets) {
		const bin = Math.ceil(Math.log2(Math.max(1, le)) * 2);

		columns.set(bin, (columns.get(bin) || 0) + count);
	}
	for (let bin = Math.min(...columns.keys()); bin <= Math.max(...columns.keys()); bin++)
		bins.push({ bin, count: columns.get(bin) || 0 });
	const most = Math.max(...bins.map(({ count }) => count)), width = 100 / bins.length;
	const label = (bin) => timeText(Math.round(2 ** (bin / 2)));

	return el("figure", { class: "histogram" },
		svg("svg", { viewBox: "0 0 100 30", preserveAspectRatio: "none", role: "img",
			     "aria-label": `${row.of}: ${bins.filter(({ count }) => count).map(({ bin, count }) =>
				     `${grouped(count)} up to ${label(bin)}`).join(", ")}` },
		    bins.map(({ bin, count }, i) => svg("rect", {
			    x: i * width, width: width * 0.9, y: 30 - 30 * count / most, height: 30 * count / most },
			    svg("title", {}, `up to ${label(bin)}: ${grouped(count)}`)))),
		el("figcaption", {}, `${label(bins[0].bin)} to ${label(bins.at(-1).bin)}; the highest column is ${grouped(most)}`));
}

function distributionTable(threads) {
	const rows = [...threads.reduce((into, thread) => distributionsOf(thread, into), new Map()).values()];
	const time = (key, value) => ({ key, title: key, numeric: true, value, cell: (row) => timeText(value(row)) });
	const count = (row) => [...row.buckets.values()].reduce((sum, each) => sum + each, 0);

	return rows.length ? sortableTable({
		caption: "Percentiles are those of buckets: up to 1/16 too large.",
		columns: [
			{ key: "of", title: "of", value: (row) => row.of, cell: (row) => isolated(row.of) },
			{ key: "count", title: "count", numeric: true, value: count, cell: (row) => grouped(count(row)) },
			...PERMILLES.map(([key, share]) => time(key, (row) => permille(row, share))),
			time("max", (row) => row.max),
		],
		rows, sort: "max", detail: histogram, id: "distribution-table" }).element : null;
}

function distributionsView(context) {
	const { threads } = context.sample, table = distributionTable(threads);
	const place = el("div", {}, table);

	if (!table)
		return null;
	return [el("p", { class: "tools" }, el("label", {}, "Of ",
		el("select", { onchange: (event) => place.replaceChildren(
			distributionTable(event.target.value ? [threads[event.target.value]] : threads) || "none") },
		   el("option", { value: "" }, "all threads"),
		   threads.map((thread, i) => el("option", { value: i }, whoText(thread)))))), place];
}
