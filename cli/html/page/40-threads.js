// SPDX-License-Identifier: Apache-2.0
/* Where the time went: states as stacked bars, of all threads and of each. */

/* States in the order of the ledger, those that are not known here with their keys. */
function statesOf(sample, words) {
	const keys = new Set(Object.keys(words.states));

	for (const thread of sample.threads)
		for (const key of Object.keys(thread.ledger))
			if (/_ns$/.test(key) && !/^(life|sum_exec_runtime)_ns$/.test(key))
				keys.add(key.slice(0, -3));
	return [...keys].map((key) => ({
		key,
		title: words.states[key] || titleOf(key),
		ns: (thread) => numberOf(thread.ledger[`${key}_ns`]) || 0,
	}));
}

function barLabel(parts, whole) {
	return parts.filter((part) => part.ns).sort((a, b) => b.ns - a.ns)
		.map((part) => `${part.title} ${timeText(part.ns)} (${shareText(part.ns, whole)})`).join(", ");
}

/* parts: [{ key, title, ns }]. */
function stackedBar(parts) {
	const whole = parts.reduce((sum, part) => sum + part.ns, 0);
	const label = barLabel(parts, whole) || "nothing";

	return el("div", { class: "bar", role: "img", "aria-label": label, title: label },
		parts.filter((part) => part.ns).map((part) =>
			styled(el("span", { class: `state state-${part.key}` }), { flexGrow: part.ns / whole })));
}

/* What the ledger has of a thread, which states are hidden left out. */
function threadParts(thread, states, hidden) {
	return states.filter((state) => !hidden.has(state.key))
		.map((state) => ({ ...state, ns: state.ns(thread) }));
}

/* A row for each state, with a button that hides it in all bars. */
function statesView(context, redraw) {
	const { sample, states, hidden } = context, whole = context.life;
	const sums = states.map((state) => ({ ...state, of: state.ns,
		ns: sample.threads.reduce((sum, thread) => sum + state.ns(thread), 0) }));
	const bar = el("div", {});
	const draw = () => bar.replaceChildren(stackedBar(sums.filter((sum) => !hidden.has(sum.key))));
	const columns = [
		{ key: "title", title: "State", value: (row) => row.title,
		  cell: (row) => el("label", {}, el("input", { type: "checkbox", checked: !hidden.has(row.key),
			onchange: (event) => {
				if (event.target.checked)
					hidden.delete(row.key);
				else
					hidden.add(row.key);
				draw();
				redraw();
			} }), el("span", { class: `swatch state-${row.key}` }), row.title) },
		{ key: "ns", title: "Time", numeric: true, value: (row) => row.ns,
		  cell: (row) => timeText(row.ns) },
		{ key: "share", title: "Share", numeric: true, value: (row) => row.ns,
		  cell: (row) => shareText(row.ns, whole) },
		{ key: "most", title: "Most of it in", value: (row) => row.most,
		  cell: (row) => isolated(row.most) },
	];

	for (const sum of sums) {
		const most = sample.threads.reduce((a, b) => (!a || sum.of(b) > sum.of(a) ? b : a), null);

		sum.most = most ? whoText(most) : "";
	}
	draw();
	return [bar, sortableTable({ caption: "States of all threads; a box that is not ticked leaves its state out of the bars.",
				     columns, rows: sums.filter((sum) => sum.ns), id: "states" }).element];
}

function threadDetail(thread, context) {
	const titles = { ...context.words.awaited };
	const ledger = context.states.filter((state) => state.ns(thread))
		.map((state) => ({ state: state.title, ns: state.ns(thread),
				   share: state.ns(thread) / numberOf(thread.ledger.life_ns) }));

	return el("div", { class: "details" }, rowsTable("states", ledger, context),
		  objectView(thread, context, { titles, skip: ["tid", "name", "ledger", "in_flight", "open_periods"] }),
		  rowsTable("open at an edge", [...(thread.in_flight || []), ...(thread.open_periods || [])], context));
}

function threadColumns(context) {
	const { reading, states, hidden } = context;
	const sum = (thread, keys) => keys.reduce((ns, key) => ns + (numberOf(thread.ledger[`${key}_ns`]) || 0), 0);
	const time = (key, title, value) => ({ key, title, numeric: true, value,
					       cell: (thread) => timeText(value(thread)) });
	const of = (thread) => reading.threads[context.index.get(thread)] || [0, 0, 0];
	const columns = [
		{ key: "tid", title: "TID", value: (thread) => thread.tid,
		  cell: (thread) => (thread.members > 1 ? `${thread.members} threads` : String(thread.tid)) },
		{ key: "name", title: "Thread", value: (thread) => textOf(thread, "name"),
		  cell: (thread) => el("span", { class: "name" }, isolated(textOf(thread, "name") || "<unknown>")) },
		{ key: "bar", title: "Where its time went", numeric: true, value: (thread) => of(thread)[0],
		  cell: (thread) => stackedBar(threadParts(thread, states, hidden)) },
		time("running", "Running", (thread) => sum(thread, ["user", "kernel"])),
		time("ready", "Ready", (thread) => sum(thread, ["ready_woken", "ready_preempted", "throttled"])),
		time("blocked", "Blocked", (thread) => sum(thread, ["blocked", "blocked_uninterruptible"])),
		time("kept", "Kept", (thread) => of(thread)[1]),
		{ key: "share", title: "Of busy", numeric: true,
		  value: (thread) => (of(thread)[0] ? of(thread)[1] / of(thread)[0] : 0),
		  cell: (thread) => shareText(of(thread)[1], of(thread)[0]) },
		time("longest", "Longest", (thread) => of(thread)[2]),
	];

	if (context.sample.threads.some((thread) => "pid" in thread))
		columns.splice(1, 0, { key: "pid", title: "PID", value: (thread) => thread.pid,
				       cell: (thread) => String(thread.pid) });
	return columns;
}

/* By the beginning of a number, or a part of the name. */
function threadMatches(thread, text) {
	const wanted = text.trim().toLowerCase();

	return !wanted || textOf(thread, "name").toLowerCase().includes(wanted) ||
	       String(thread.tid).startsWith(wanted) || String(thread.pid ?? "").startsWith(wanted);
}

function threadsView(context) {
	const table = sortableTable({ caption: "Threads; the headers sort.", columns: threadColumns(context),
				      rows: context.sample.threads, sort: "kept", id: "thread-table",
				      detail: (thread) => threadDetail(thread, context) });
	const filter = el("input", { type: "search", id: "thread-filter", autocomplete: "off",
				     oninput: (event) => table.filter((thread) =>
					     threadMatches(thread, event.target.value)) });

	return { element: [el("p", { class: "tools" }, el("label", { for: "thread-filter" },
						 "Threads with this name or number "), filter),
			   table.element],
		 redraw: table.redraw };
}
